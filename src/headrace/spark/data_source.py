"""`format("headrace")`: Kafka topics as a data source of Spark, in batches and streams."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from headrace.spark.errors import OptionError

if TYPE_CHECKING:
    from headrace.spark.source import BatchReader
    from headrace.spark.stream_source import StreamReader

_HEADER = StructType([StructField("key", StringType()), StructField("value", BinaryType())])


class DefaultSource(DataSource):
    """The options and columns are those of Spark's own `kafka` format."""

    options: Mapping[str, str]

    @classmethod
    def name(cls) -> str:
        return "headrace"

    def schema(self) -> Any:
        types = self._types()
        if str(self.options.get("includeHeaders", "false")).lower() != "true":
            del types["headers"]
        return StructType([StructField(name, kind) for name, kind in types.items()])

    def reader(self, schema: Any) -> BatchReader:
        from headrace.spark.source import BatchReader

        return BatchReader(self.options, self._chosen(schema))

    def streamReader(self, schema: Any) -> StreamReader:  # noqa: N802 - Spark's name
        from headrace.spark.stream_source import StreamReader

        return StreamReader(self.options, self._chosen(schema))

    def writer(self, schema: Any, overwrite: bool) -> Any:
        from headrace.spark.sink import batch_writer

        return batch_writer(self.options, schema, overwrite=overwrite)

    def streamWriter(self, schema: Any, overwrite: bool) -> Any:  # noqa: N802 - Spark's name
        from headrace.spark.sink import stream_writer

        return stream_writer(self.options, schema)

    def _types(self) -> dict[str, Any]:
        """Every column that there is, in Spark's order."""
        types: dict[str, Any] = {
            "key": BinaryType(),
            "value": BinaryType(),
            "topic": StringType(),
            "partition": IntegerType(),
            "offset": LongType(),
            "timestamp": TimestampType(),
            "timestampType": IntegerType(),
            "headers": ArrayType(_HEADER),
        }
        pinned = self.options.get("headrace.value.reader")
        if pinned is not None:
            from headrace.spark.registry.read_columns import value_types

            types |= value_types(pinned)
        return types

    def _chosen(self, schema: Any) -> list[str]:
        """The columns that are read: all, or those that the user's own schema names."""
        types = self._types()
        for column in schema.fields:
            wanted = types.get(column.name)
            if wanted is None:
                raise OptionError(
                    f"There is no column {column.name}: a topic has {', '.join(types)}."
                )
            if column.dataType != wanted:
                raise OptionError(
                    f"Column {column.name} is {wanted.simpleString()},"
                    f" not {column.dataType.simpleString()}."
                )
        return [column.name for column in schema.fields]
