"""A DataFrame as Parquet files of a good size, in a directory that nobody reads yet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from headrace.spark.stores.files import Files
from headrace.spark.stores.hadoop_files import rows_of
from headrace.spark.stores.last_per_key import quoted
from headrace.spark.stores.sizing import TARGET_FILE_BYTES, better_layout, rows_per_file

# Spark still writes INT96 unless told, which the Parquet format has given up.
_TIMESTAMP_TYPE = "spark.sql.parquet.outputTimestampType"
#: Footers that are read to learn how large a row is.
_FOOTERS = 16


@dataclass(slots=True)
class ParquetStaging:
    """Writes the batches of one output; it learns from each how large a row is."""

    partition_by: Sequence[str] = ()
    target_file_bytes: int = TARGET_FILE_BYTES
    compression: str | None = None
    rows_per_file: int = 0

    def write(self, df: Any, files: Files, directory: str) -> dict[str, int]:
        """The bytes of each file by its path from the directory; none if there are no rows."""
        spark = df.sparkSession
        with _timestamps_in_micros(spark):
            self._save(df, f"{directory}/data")
            sizes = files.sizes(f"{directory}/data")
            if len(sizes) == 1 and rows_of(spark, f"{directory}/data/{next(iter(sizes))}") == 0:
                files.delete(f"{directory}/data")
                return {}
            rows = self._rows(spark, f"{directory}/data", sizes)
            layout = better_layout(sizes, rows, self.target_file_bytes)
            if layout is None:
                return sizes
            self.rows_per_file = layout.rows_per_file
            # The types of partition columns are not in the files: Spark would guess them.
            staged = spark.read.schema(df.schema).parquet(f"{directory}/data")
            if self.partition_by:
                staged = staged.repartition(layout.tasks, *map(quoted, self.partition_by))
            else:
                staged = staged.coalesce(layout.tasks)
            self._save(staged, f"{directory}/again")
        files.delete(f"{directory}/data")
        files.rename(f"{directory}/again", f"{directory}/data")
        return files.sizes(f"{directory}/data")

    def _save(self, df: Any, path: str) -> None:
        writer = df.write.option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false")
        if self.rows_per_file:
            writer = writer.option("maxRecordsPerFile", self.rows_per_file)
        if self.compression is not None:
            writer = writer.option("compression", self.compression)
        if self.partition_by:
            writer = writer.partitionBy(*self.partition_by)
        writer.parquet(path)

    def _rows(self, spark: Any, directory: str, sizes: Mapping[str, int]) -> int:
        """About how many rows there are, counted in the largest files."""
        if max(sizes.values(), default=0) <= self.target_file_bytes:
            return 0
        largest = sorted(sizes, key=lambda path: sizes[path])[-_FOOTERS:]
        rows = sum(rows_of(spark, f"{directory}/{path}") for path in largest)
        self.rows_per_file = rows_per_file(
            sum(sizes[path] for path in largest), rows, self.target_file_bytes
        )
        return rows * sum(sizes.values()) // sum(sizes[path] for path in largest)


@contextmanager
def _timestamps_in_micros(spark: Any) -> Iterator[None]:
    before = spark.conf.get(_TIMESTAMP_TYPE)
    spark.conf.set(_TIMESTAMP_TYPE, "TIMESTAMP_MICROS")
    try:
        yield
    finally:
        spark.conf.set(_TIMESTAMP_TYPE, before)
