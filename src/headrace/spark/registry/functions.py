"""`from_registry`, `with_registry`: records in the registry's wire format as columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from headrace.serde.errors import SerdeError
from headrace.spark.registry.decoding import PinnedReader, decoder_for, pin_reader, spark_type
from headrace.spark.registry.settings import registry_settings, subject_of

_ON_ERROR = ("null", "fail")


def from_registry(
    column: Any,
    *,
    topic: str | None = None,
    subject: str | None = None,
    is_key: bool = False,
    url: str | None = None,
    reader_schema: str | None = None,
    schema_type: str | None = None,
    message: str | None = None,
    on_error: str = "null",
    options: Mapping[str, str] | None = None,
) -> Any:
    """A binary column of records as a column of their values.

    Each record is read with the schema that wrote it and seen through one schema for the whole
    query: `reader_schema`, or the latest of the topic's subject at this moment. A record that
    cannot be read is null, or fails the query with `on_error="fail"`; `with_registry` tells why.
    """
    if on_error not in _ON_ERROR:
        raise SerdeError(f"on_error is one of {', '.join(_ON_ERROR)}, not {on_error!r}.")
    reader = pinned(*(topic, subject, is_key, url, reader_schema, schema_type, message), options)
    return decoded_column(column, reader, fails=on_error == "fail")


def with_registry(
    df: Any,
    column: str = "value",
    *,
    into: str,
    error: str | None = None,
    topic: str | None = None,
    subject: str | None = None,
    is_key: bool = False,
    url: str | None = None,
    reader_schema: str | None = None,
    schema_type: str | None = None,
    message: str | None = None,
    options: Mapping[str, str] | None = None,
) -> Any:
    """The DataFrame with two columns more: the values, and why they are null where they are.

    `error` is `{into}_error` unless said otherwise. How many rows there were and how many could not
    be read is counted: Spark reports it as the observed metric `{into}` of the query's progress.
    """
    from pyspark.sql import functions as sql

    error = error or f"{into}_error"
    reader = pinned(*(topic, subject, is_key, url, reader_schema, schema_type, message), options)
    both = f"__{into}_decoded"
    decoded = df.withColumn(both, _explained_column(column, reader))
    return (
        decoded.withColumn(into, sql.col(f"`{both}`.value"))
        .withColumn(error, sql.col(f"`{both}`.error"))
        .drop(both)
        .observe(
            into,
            sql.count(sql.lit(1)).alias("rows"),
            sql.count(sql.col(f"`{error}`")).alias("undecodable"),
        )
    )


def decoded_column(column: Any, reader: PinnedReader, *, fails: bool = False) -> Any:
    """The values of a column as a pinned reader sees them."""
    from pyspark.sql.functions import arrow_udf, col

    def from_registry(values: pa.Array) -> pa.Array:
        decoded = decoder_for(reader).decode(values)
        if fails and decoded.reasons:
            raise SerdeError(next(iter(decoded.reasons.values())))
        return decoded.values

    function = arrow_udf(from_registry, spark_type(reader))
    return function(col(column) if isinstance(column, str) else column)


def _explained_column(column: str, reader: PinnedReader) -> Any:
    from pyspark.sql.functions import arrow_udf, col
    from pyspark.sql.types import StringType, StructType

    def from_registry(values: pa.Array) -> pa.Array:
        decoded = decoder_for(reader).decode(values)
        return pa.StructArray.from_arrays(
            [decoded.values, reason_column(decoded.reasons, len(values))], ["value", "error"]
        )

    both = StructType().add("value", spark_type(reader)).add("error", StringType())
    return arrow_udf(from_registry, both)(col(column))


def reason_column(reasons: Mapping[int, str], length: int) -> pa.Array:
    """Reasons by row as a column."""
    if not reasons:
        return pa.nulls(length, pa.string())
    return pa.array([reasons.get(row) for row in range(length)], pa.string())


def pinned(
    topic: str | None,
    subject: str | None,
    is_key: bool,
    url: str | None,
    reader_schema: str | None,
    schema_type: str | None,
    message: str | None,
    options: Mapping[str, str] | None,
) -> PinnedReader:
    """The reader of a query: a schema of the user's own, or the latest of a subject."""
    from pyspark.sql import SparkSession

    settings = registry_settings(SparkSession.active(), url, options)
    if reader_schema is not None and topic is None and subject is None:
        name = None
    else:
        name = subject_of(topic, subject, is_key)
    return pin_reader(
        settings,
        subject=name,
        reader_schema=reader_schema,
        schema_type=schema_type,
        message=message,
    )
