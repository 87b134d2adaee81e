"""Delta Lake without a jar: Spark's tasks write the files, `deltalake` commits them.

The commit of a batch carries the query and the batch id as the transaction of an application, in
Delta's words, so that a replay finds its batch in the table's own log. Files that a killed driver
has not committed are in no version of the table; `vacuum` removes them.
"""

from __future__ import annotations

import os
import secrets
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.spark.errors import OptionError
from headrace.spark.stores.batches import Batch, write_batches
from headrace.spark.stores.commit_log import CommitLog
from headrace.spark.stores.delta_table import DeltaCommits
from headrace.spark.stores.errors import StoreError, require
from headrace.spark.stores.files import LocalFiles, files_of
from headrace.spark.stores.hadoop_files import rows_of
from headrace.spark.stores.last_per_key import last_per_key, require_columns
from headrace.spark.stores.parquet_staging import ParquetStaging
from headrace.spark.stores.retrying import Retries, with_retries
from headrace.spark.stores.sizing import TARGET_FILE_BYTES


def to_delta(
    df: Any,
    path: str,
    *,
    mode: str = "append",
    key: Sequence[str] = (),
    order_by: str | None = None,
    partition_by: Sequence[str] = (),
    target_file_bytes: int = TARGET_FILE_BYTES,
    retries: Retries | None = None,
    query: str | None = None,
    batch_id: int | None = None,
) -> Any:
    """Write to a Delta table, made if need be; a `DataStreamWriter` if the DataFrame streams.

    `mode="upsert"` puts each row in the place of the one with the same `key`; of several rows of a
    batch the one with the highest `order_by` stays, or the last.
    """
    require("deltalake", "to_delta")
    keys = [key] if isinstance(key, str) else list(key)
    partitions = [partition_by] if isinstance(partition_by, str) else list(partition_by)
    require_columns(df, [*keys, *partitions, *([] if order_by is None else [order_by])])
    if mode not in ("append", "upsert"):
        raise OptionError(f"mode is append or upsert, not {mode}.")
    if (mode == "upsert") != bool(keys):
        raise OptionError('A key goes with mode="upsert", and that mode with a key.')
    target = DeltaTarget(
        *(str(path), keys, order_by, partitions, target_file_bytes, retries or Retries())
    )
    what = f"Delta table at {path}"
    return write_batches(df, target.write, what=what, query=query, batch_id=batch_id)


@dataclass(frozen=True, slots=True)
class DeltaTarget:
    """A table that batches are written to."""

    path: str
    key: Sequence[str] = ()
    order_by: str | None = None
    partition_by: Sequence[str] = ()
    target_file_bytes: int = TARGET_FILE_BYTES
    retries: Retries = field(default_factory=Retries)

    def write(self, df: Any, batch: Batch | None) -> None:
        files, root = files_of(df.sparkSession, self.path)
        if not isinstance(files, LocalFiles):
            raise StoreError(f"to_delta writes to local and mounted directories, not to {root}.")
        # A file system that others write to as well: their commits may take our place.
        with_retries(lambda: self._try(df, batch, files, root), self.retries)

    def _try(self, df: Any, batch: Batch | None, files: LocalFiles, root: str) -> None:
        os.makedirs(root, exist_ok=True)
        table = DeltaCommits(root, batch)
        table.open(df.schema.jsonValue(), self.partition_by)
        if table.has_batch():
            return
        known = batch or Batch(uuid.uuid4().hex, 0)
        log = CommitLog(files, root, known.slug)
        log.settle()  # nothing is ever decided in it: what is staged is a killed driver's
        staged = log.path_of(log.stage(known.batch_id, secrets.token_hex(4)))
        try:
            if self.key:
                self._merge(df, table, files, staged)
            else:
                self._append(df, table, files, staged, known)
        finally:
            files.delete(staged if batch is not None else log.directory)

    def _append(
        self, df: Any, table: DeltaCommits, files: LocalFiles, staged: str, batch: Batch
    ) -> None:
        staging = ParquetStaging(table.partition_columns, self.target_file_bytes)
        added = []
        for number, (path, size) in enumerate(staging.write(df, files, staged).items()):
            # The token keeps a file apart from one of an attempt that was not committed.
            name = f"{batch.slug}.{batch.batch_id:010}.{secrets.token_hex(4)}.{number:04}.parquet"
            rows = rows_of(df.sparkSession, f"{staged}/data/{path}")
            files.sync(f"{staged}/data/{path}")
            files.rename(f"{staged}/data/{path}", f"{table.root}/{name}")
            added.append(table.added(name, path, size, rows))
        table.append(added)

    def _merge(self, df: Any, table: DeltaCommits, files: LocalFiles, staged: str) -> None:
        rows = last_per_key(df, self.key, self.order_by)
        sizes = ParquetStaging((), self.target_file_bytes).write(rows, files, staged)
        table.merge([f"{staged}/data/{path}" for path in sizes], self.key)
