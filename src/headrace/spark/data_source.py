"""`format("headrace")`: Kafka topics as a data source of Spark, in batches and streams."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource

from headrace.spark.errors import OptionError

if TYPE_CHECKING:
    from headrace.spark.source import BatchReader, StreamReader

_TYPES = {
    "key": "binary",
    "value": "binary",
    "topic": "string",
    "partition": "int",
    "offset": "bigint",
    "timestamp": "timestamp",
    "timestampType": "int",
    "headers": "array<struct<key:string,value:binary>>",
}


class DefaultSource(DataSource):
    """The options and columns are those of Spark's own `kafka` format."""

    options: Mapping[str, str]

    @classmethod
    def name(cls) -> str:
        return "headrace"

    def schema(self) -> str:
        wants_headers = str(self.options.get("includeHeaders", "false")).lower() == "true"
        return ", ".join(
            f"{name} {kind}" for name, kind in _TYPES.items() if name != "headers" or wants_headers
        )

    def reader(self, schema: Any) -> BatchReader:
        from headrace.spark.source import BatchReader

        return BatchReader(self.options, _chosen(schema))

    def streamReader(self, schema: Any) -> StreamReader:  # noqa: N802 - Spark's name
        from headrace.spark.source import StreamReader

        return StreamReader(self.options, _chosen(schema))

    def writer(self, schema: Any, overwrite: bool) -> Any:
        from headrace.spark.sink import batch_writer

        return batch_writer(self.options, schema)

    def streamWriter(self, schema: Any, overwrite: bool) -> Any:  # noqa: N802 - Spark's name
        from headrace.spark.sink import stream_writer

        return stream_writer(self.options, schema)


def _chosen(schema: Any) -> list[str]:
    """The columns that are read: all, or those that the user's own schema names."""
    for column in schema.fields:
        wanted = _TYPES.get(column.name)
        if wanted is None:
            raise OptionError(f"There is no column {column.name}: a topic has {', '.join(_TYPES)}.")
        if column.dataType.simpleString() != wanted:
            raise OptionError(
                f"Column {column.name} is {wanted}, not {column.dataType.simpleString()}."
            )
    return [column.name for column in schema.fields]
