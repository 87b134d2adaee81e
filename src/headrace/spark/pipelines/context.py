"""Which pipeline is this? For functions that Spark calls while the runner has started them.

Two moments are known. While the runner calls a pipeline's function, `building()` is that pipeline.
While Spark calls a function given to `foreachBatch`, `current(spark)` is the pipeline whose query
calls it. Several queries run in one session, each batch on a thread of its own in the JVM; py4j
pins the Python callback to that thread, so that the thread's local properties name the query.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, NamedTuple

from headrace.spark.offsets import OffsetJson
from headrace.spark.query_thread import query_id, query_name

_BETWEEN = "; "
#: A path or a table may have the day in its name.
_OUTPUTS_SHOWN = 8

#: What marks an offset in a group as committed by a pipeline, not moved there by somebody.
_MARK = "headrace-pipeline"


@dataclass(slots=True)
class Running:
    """A pipeline that the runner has started, or is about to."""

    name: str
    #: The consumer group whose committed offsets follow the query.
    group: str
    #: The directory that Spark keeps offsets and state in; each generation has its own.
    checkpoint: str
    #: Counted up whenever the pipeline starts anew elsewhere; batch ids may begin at 0 again then.
    generation: int = 1
    bootstrap_servers: str = ""
    schema_registry_url: str = ""
    #: Where this generation began, if it did not begin where its source's options say.
    starting: OffsetJson | None = None
    #: An output sets this when the offsets are part of its own transaction.
    commits_offsets_itself: bool = False
    #: An output says here in a few words where the rows go, for people: "topic validated".
    output: str = ""

    def add_output(self, what: str) -> None:
        """An output names itself; a function of `foreachBatch` may have several."""
        known = self.output.split(_BETWEEN) if self.output else []
        if what not in known and len(known) < _OUTPUTS_SHOWN:
            self.output = _BETWEEN.join([*known, what])

    @property
    def instance(self) -> str:
        """The same over restarts, another one for each generation: what batch ids count within."""
        return f"{self.name}.{self.generation}"

    def commit_metadata(self, batch_id: int) -> str:
        """What goes with each committed offset, so that the next start knows it for our own."""
        place = {"generation": self.generation, "batch": batch_id}
        return json.dumps({_MARK: self.name, **place}, separators=(",", ":"))


class Mark(NamedTuple):
    """Whose an offset is: the pipeline that committed it, and after which batch."""

    name: str
    generation: int
    batch_id: int


def committed_batch(metadata: str) -> Mark | None:
    """The mark of an offset that a pipeline committed; None of any other."""
    if _MARK not in metadata:
        return None
    try:
        found = json.loads(metadata)
        return Mark(str(found[_MARK]), int(found["generation"]), int(found["batch"]))
    except (ValueError, KeyError, TypeError):
        return None


_lock = threading.Lock()
_by_name: dict[str, Running] = {}
_by_query: dict[str, Running] = {}
_building: ContextVar[Running | None] = ContextVar("headrace_pipeline", default=None)


def building() -> Running | None:
    """The pipeline whose function is being called."""
    return _building.get()


@contextmanager
def being_built(running: Running) -> Iterator[Running]:
    """Around the call of a pipeline's function."""
    token = _building.set(running)
    try:
        yield running
    finally:
        _building.reset(token)


def register(running: Running) -> None:
    """Before its query starts: the first batch may come sooner than `start()` returns."""
    with _lock:
        forgotten = _by_name.get(running.name)
        for query_id in [query_id for query_id, r in _by_query.items() if r is forgotten]:
            del _by_query[query_id]
        _by_name[running.name] = running


def forget(running: Running) -> None:
    """After its query has ended."""
    with _lock:
        _by_name.pop(running.name, None)
        for query_id in [query_id for query_id, r in _by_query.items() if r is running]:
            del _by_query[query_id]


def current(spark: Any) -> Running | None:
    """The pipeline whose batch this thread works on; None outside the runner.

    `spark` is any session of the application, such as the `sparkSession` of the batch's DataFrame.
    """
    if not _by_name:
        return None
    query = query_id(spark)
    if query is None:
        return None
    with _lock:
        found = _by_query.get(query)
    if found is not None:
        return found
    name = query_name(spark)
    with _lock:
        found = _by_name.get(name)
        if found is not None:
            _by_query[query] = found
    return found
