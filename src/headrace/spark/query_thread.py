"""What Spark says of a streaming query on the thread that runs its batches."""

from __future__ import annotations

from typing import Any

_QUERY_ID = "sql.streaming.queryId"
_BATCH_ID = "streaming.sql.batchId"
#: Set for each batch; its first line is the name of the query.
_DESCRIPTION = "spark.job.description"


def query_id(spark: Any) -> str | None:
    """The query whose batch this thread works on; the same over restarts from a checkpoint."""
    found = spark.sparkContext.getLocalProperty(_QUERY_ID)
    return None if found is None else str(found)


def batch_id(spark: Any) -> int:
    """The number of that batch."""
    return int(spark.sparkContext.getLocalProperty(_BATCH_ID))


def query_name(spark: Any) -> str:
    """The query's name; for one without, what Spark says in its place."""
    described = spark.sparkContext.getLocalProperty(_DESCRIPTION)
    return str(described or "").partition("\n")[0]
