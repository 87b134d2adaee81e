"""Rows that cannot be read, set apart, and as records of a dead-letter topic.

The headers are those of Kafka Connect's dead-letter queues, so that tools that know them work here
as well; the record's key, value and own headers stay as they were.
"""

from __future__ import annotations

from typing import Any

_PREFIX = "__connect.errors."
_STAGE = "VALUE_CONVERTER"
_CLASS = "headrace.serde.errors.SerdeError"


def split_dead_letters(df: Any, error: str) -> tuple[Any, Any]:
    """The rows without an error, without its column; and those with one."""
    from pyspark.sql.functions import col

    good = df.where(col(f"`{error}`").isNull()).drop(error)
    return good, df.where(col(f"`{error}`").isNotNull())


def dead_letters(df: Any, *, topic: str, error: str, stage: str = _STAGE) -> Any:
    """Records for a dead-letter topic: key, value, headers and topic.

    Of a record of a topic (with the columns `topic`, `partition` and `offset`) the headers say
    where it is.
    """
    from pyspark.sql import functions as sql

    def header(name: str, value: Any) -> Any:
        content = sql.encode(value.cast("string"), "utf-8")
        return sql.struct(sql.lit(_PREFIX + name).alias("key"), content.alias("value"))

    known = set(df.columns)
    headers = [
        header(name, sql.col(column))
        for name, column in (
            ("topic", "topic"),
            ("partition", "partition"),
            ("offset", "offset"),
        )
        if column in known
    ]
    headers += [
        header("stage", sql.lit(stage)),
        header("exception.class.name", sql.lit(_CLASS)),
        header("exception.message", sql.col(f"`{error}`")),
    ]
    added = sql.array(*headers)
    if "headers" in known:
        empty = sql.array().cast(_HEADERS)
        added = sql.concat(sql.coalesce(sql.col("headers").cast(_HEADERS), empty), added)
    key = sql.col("key") if "key" in known else sql.lit(None).cast("binary")
    return df.select(
        key.alias("key"),
        sql.col("value"),
        added.cast(_HEADERS).alias("headers"),
        sql.lit(topic).alias("topic"),
    )


_HEADERS = "array<struct<key:string,value:binary>>"
