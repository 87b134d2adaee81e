"""Which batch of which query is being written: what makes a replay known as one.

Spark writes a batch again, under the same number, when it cannot know that the first time was
complete. Batch numbers count within a checkpoint, so the identity of a query is the id that Spark
keeps there: a new checkpoint starts at 0 under another id, and nothing of it is taken for a replay.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace.spark import query_thread
from headrace.spark.pipelines.context import building, current


@dataclass(frozen=True, slots=True)
class Batch:
    """One batch, named so that its replay has the same name."""

    #: The checkpoint's query id, after the name of the output if it was given one.
    query: str
    batch_id: int
    #: What people call the query.
    label: str = "batch"

    @property
    def slug(self) -> str:
        """The query as part of a file name: readable first, unique by the digits at its end."""
        name = re.sub(r"[^A-Za-z0-9]+", "-", self.label).strip("-") or "query"
        return f"{name[:40]}-{hashlib.sha256(self.query.encode()).hexdigest()[:12]}"


WriteBatch = Callable[[Any, Batch | None], None]


def write_batches(
    df: Any, write: WriteBatch, *, what: str, query: str | None = None, batch_id: int | None = None
) -> Any:
    """A `DataStreamWriter` for a streaming DataFrame; any other is written at once.

    `what` tells people where the rows go, if a pipeline writes them.
    """
    running = building() if df.isStreaming else current(df.sparkSession)
    if running is not None:
        running.add_output(what)
    if not df.isStreaming:
        write(df, current_batch(df.sparkSession, query, batch_id))
        return None

    def write_one(batch: Any, number: int) -> None:
        write(batch, current_batch(batch.sparkSession, query, number))

    return df.writeStream.foreachBatch(write_one)


def current_batch(spark: Any, query: str | None, batch_id: int | None) -> Batch | None:
    """The batch that this thread works on; None if nothing says that it may come again."""
    query_id = query_thread.query_id(spark)
    if query_id is None:
        if query is None or batch_id is None:
            return None
        return Batch(query, batch_id, query)
    if batch_id is None:
        batch_id = query_thread.batch_id(spark)
    described = query_thread.query_name(spark)
    name = "" if described.startswith("id = ") else described
    identity = query_id if query is None else f"{query}:{query_id}"
    return Batch(identity, batch_id, query or name or "query")
