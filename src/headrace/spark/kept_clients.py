"""Connections that outlive a task: the next one in the same Python worker finds them ready.

Micro-batches are short, and Spark keeps its Python workers: a task that had to connect each time,
and to ask what the last one knew, would spend most of its time on that. A client is used by one
task at a time, is dropped after any error, and is made anew when its view of the cluster has
become old.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol, TypeVar, cast

#: As a producer's metadata.max.age.ms: new partitions of a topic are seen after this at the latest.
_AGE_S_MAX = 300.0


class Client(Protocol):
    """Whatever holds connections."""

    def close(self) -> None: ...


C = TypeVar("C", bound=Client)

#: By what it is, the process (a worker may be forked from another), and the `kafka.*` options.
_Key = tuple[type[Client], int, tuple[tuple[str, str], ...]]
#: With the time when it was made.
_idle: dict[_Key, tuple[float, Client]] = {}


@contextmanager
def kept_client(kind: type[C], kafka: Mapping[str, str], make: Callable[[], C]) -> Iterator[C]:
    """One for this task alone: left over from an earlier task, or made now."""
    key = (kind, os.getpid(), tuple(sorted(kafka.items())))
    entry = _idle.pop(key, None)
    if entry is not None and time.monotonic() - entry[0] > _AGE_S_MAX:
        entry[1].close()
        entry = None
    if entry is None:
        entry = (time.monotonic(), make())
    client = cast(C, entry[1])
    try:
        yield client
    except BaseException:
        client.close()
        raise
    replaced, _idle[key] = _idle.get(key), entry
    if replaced is not None:
        replaced[1].close()


def forget() -> None:
    """Close what is idle."""
    while _idle:
        _, (_, client) = _idle.popitem()
        client.close()
