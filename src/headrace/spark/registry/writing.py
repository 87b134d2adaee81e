"""`to_registry`: columns of a DataFrame as records in the registry's wire format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from headrace.serde.errors import SerdeError
from headrace.serde.schema import AVRO, Reference
from headrace.spark.registry.encoding import PinnedWriter, encoder_for, pin_writer
from headrace.spark.registry.settings import registry_settings, subject_of

_ON_ERROR = ("fail", "null")


def to_registry(
    column: Any,
    *,
    topic: str | None = None,
    subject: str | None = None,
    is_key: bool = False,
    schema: str | None = None,
    schema_type: str = AVRO,
    references: Sequence[Reference] = (),
    url: str | None = None,
    auto_register: bool = True,
    normalize: bool = False,
    message: str | None = None,
    on_error: str = "fail",
    options: Mapping[str, str] | None = None,
) -> Any:
    """A column of values as a binary column of records; a list of columns is written as a record.

    The schema is registered under the topic's subject at this moment, or with
    `auto_register=False` must be there; without `schema` the subject's latest is used. A row that
    does not fit the schema fails the query, or is null with `on_error="null"`.
    """
    from pyspark.sql import SparkSession

    if on_error not in _ON_ERROR:
        raise SerdeError(f"on_error is one of {', '.join(_ON_ERROR)}, not {on_error!r}.")
    writer = pin_writer(
        registry_settings(SparkSession.active(), url, options),
        subject_of(topic, subject, is_key),
        schema=schema,
        schema_type=schema_type,
        references=references,
        auto_register=auto_register,
        normalize=normalize,
        message=message,
    )
    return encoded_column(column, writer, fails=on_error == "fail")


def encoded_column(column: Any, writer: PinnedWriter, *, fails: bool = True) -> Any:
    """The values of a column as a pinned writer writes them."""
    from pyspark.sql.functions import arrow_udf, col, struct
    from pyspark.sql.types import BinaryType

    def to_registry(values: pa.Array) -> pa.Array:
        encoded = encoder_for(writer, values.type).encode(values)
        if fails and encoded.reasons:
            raise SerdeError(next(iter(encoded.reasons.values())))
        return encoded.values

    if isinstance(column, list | tuple):
        column = struct(*column)
    return arrow_udf(to_registry, BinaryType())(col(column) if isinstance(column, str) else column)
