"""The last row of each key in a batch: what a table by key shows after the batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.spark.errors import OptionError

_ORDER = "__headrace_order"
_RANK = "__headrace_rank"


def last_per_key(df: Any, key: Sequence[str], order_by: str | None) -> Any:
    """One row per key: the one with the highest `order_by`, or else the last of the DataFrame.

    Without a shuffle before it, the order of a DataFrame read from a topic is that of the offsets
    of each partition, and a key has one partition: the last row is then the newest.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    require_columns(df, [*key, *([] if order_by is None else [order_by])])
    position = F.monotonically_increasing_id()
    numbered = df.withColumn(_ORDER, position)
    order = [F.col(_ORDER).desc()]
    if order_by is not None:
        order.insert(0, F.col(quoted(order_by)).desc_nulls_last())
    window = Window.partitionBy(*(quoted(name) for name in key)).orderBy(*order)
    ranked = numbered.withColumn(_RANK, F.row_number().over(window))
    return ranked.where(F.col(_RANK) == 1).drop(_ORDER, _RANK)


def require_columns(df: Any, names: Sequence[str]) -> None:
    """Say at once, with the columns there are, that one is missing."""
    missing = [name for name in names if name not in df.columns]
    if missing:
        raise OptionError(
            f"No column {', '.join(missing)} in the DataFrame; it has {', '.join(df.columns)}."
        )


def quoted(name: str) -> str:
    """A column's name for Spark, which takes a dot in a bare one for a field of a struct."""
    escaped = name.replace("`", "``")
    return f"`{escaped}`"
