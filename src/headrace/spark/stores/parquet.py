"""Parquet files: each batch once, in files of a good size, visible when it is complete."""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.spark.errors import OptionError
from headrace.spark.stores.batches import Batch, write_batches
from headrace.spark.stores.commit_log import Commit, CommitLog
from headrace.spark.stores.files import files_of
from headrace.spark.stores.last_per_key import require_columns
from headrace.spark.stores.parquet_staging import ParquetStaging
from headrace.spark.stores.sizing import TARGET_FILE_BYTES


def to_parquet(
    df: Any,
    path: str,
    *,
    partition_by: Sequence[str] = (),
    target_file_bytes: int = TARGET_FILE_BYTES,
    batch_column: str | None = None,
    compression: str | None = None,
    query: str | None = None,
    batch_id: int | None = None,
) -> Any:
    """Write to a directory of Parquet files; a `DataStreamWriter` if the DataFrame streams.

    A batch that is replayed changes nothing. Its files are moved into place one by one; with
    `batch_column` they are one directory, `COLUMN=QUERY.BATCH`, that appears in a single step.
    """
    names = [partition_by] if isinstance(partition_by, str) else list(partition_by)
    require_columns(df, names)
    if target_file_bytes < 1:
        raise OptionError(f"target_file_bytes has to be positive, not {target_file_bytes}.")
    if batch_column is not None and batch_column in df.columns:
        raise OptionError(f"batch_column: the DataFrame has a column {batch_column} already.")
    target = ParquetTarget(
        str(path), ParquetStaging(names, target_file_bytes, compression), batch_column
    )

    def write(rows: Any, batch: Batch | None) -> None:
        target.write(rows, batch)

    return write_batches(df, write, what=f"Parquet at {path}", query=query, batch_id=batch_id)


@dataclass(slots=True)
class ParquetTarget:
    """A directory that batches are written to."""

    path: str
    staging: ParquetStaging = field(default_factory=ParquetStaging)
    batch_column: str | None = None

    def log(self, spark: Any, batch: Batch) -> CommitLog:
        files, root = files_of(spark, self.path)
        return CommitLog(files, root, batch.slug)

    def write(self, df: Any, batch: Batch | None, notes: Mapping[str, Any] | None = None) -> Commit:
        """Write the batch unless it is there, and say what it is."""
        files, root = files_of(df.sparkSession, self.path)
        known = batch or Batch(uuid.uuid4().hex, 0)
        log = CommitLog(files, root, known.slug)
        log.settle()
        found = log.find(known.batch_id)
        if found is not None:
            return found
        name = log.stage(known.batch_id, secrets.token_hex(4))
        sizes = self.staging.write(df, files, log.path_of(name))
        moves = self._moves(known, list(sizes))
        done = Commit(known.query, known.batch_id, name, moves, sum(sizes.values()), notes or {})
        log.commit(done)
        if batch is None:
            # Nobody can ask for it again.
            files.delete(log.directory)
        return done

    def _moves(self, batch: Batch, paths: list[str]) -> dict[str, str]:
        name = f"{batch.slug}.{batch.batch_id:010}"
        if self.batch_column is not None:
            return {"data": f"{self.batch_column}={name}"} if paths else {}
        moves = {}
        for number, path in enumerate(sorted(paths)):
            directory, slash, file = path.rpartition("/")
            # Spark's own name is unique only together with its directory's: `.zstd.parquet` stays.
            ending = file.partition(".")[2]
            moves[f"data/{path}"] = f"{directory}{slash}{name}.{number:04}.{ending}"
        return moves
