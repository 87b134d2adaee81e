"""The log of a Delta table, through `deltalake`: what it has, and one commit a batch."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import unquote

from headrace.spark.stores.batches import Batch
from headrace.spark.stores.errors import StoreError, StoreUnavailable, one_line

# How Spark writes a null into the name of a directory.
_NULL = "__HIVE_DEFAULT_PARTITION__"


class DeltaCommits:
    """A table at one of its versions, and what a batch adds to it."""

    def __init__(self, root: str, batch: Batch | None) -> None:
        self.root = root
        self._batch = batch
        self._table: Any = None

    def open(self, schema: dict[str, Any], partition_by: Sequence[str]) -> None:
        """The table as it is now, made from Spark's schema if it is not there."""
        import deltalake

        with self._sentences():
            if not deltalake.DeltaTable.is_deltatable(self.root):
                deltalake.DeltaTable.create(
                    self.root,
                    deltalake.Schema.from_json(json.dumps(nullable(schema))),
                    mode="ignore",
                    partition_by=list(partition_by),
                )
            self._table = deltalake.DeltaTable(self.root)
            found = json.loads(self._table.schema().to_json())
        if partition_by and list(partition_by) != self.partition_columns:
            raise StoreError(
                f"The Delta table {self.root} is partitioned by"
                f" {', '.join(self.partition_columns) or 'nothing'}, not by"
                f" {', '.join(partition_by)}."
            )
        different = differences(nullable(schema), found)
        if different:
            raise StoreError(f"The Delta table {self.root} has {'; '.join(different)}.")

    @property
    def partition_columns(self) -> list[str]:
        return list(self._table.metadata().partition_columns)

    def has_batch(self) -> bool:
        """Whether the batch is a replay of one that was committed."""
        if self._batch is None:
            return False
        last = self._table.transaction_version(self._batch.query)
        return last is not None and last >= self._batch.batch_id

    def added(self, name: str, staged: str, size: int, rows: int) -> Any:
        """The entry of a new file; its directories in the staging area say its partition."""
        from deltalake.transaction import AddAction

        pairs = (part.partition("=") for part in staged.split("/")[:-1])
        values = {
            unquote(column): None if value == _NULL else unquote(value)
            for column, _, value in pairs
        }
        now_ms = time.time_ns() // 1_000_000
        return AddAction(name, size, values, now_ms, True, json.dumps({"numRecords": rows}))

    def append(self, added: Sequence[Any]) -> None:
        """Commit the files; a batch without any is committed too, so that it is known."""
        with self._sentences():
            self._table.create_write_transaction(
                list(added),
                "append",
                self._table.schema(),
                self.partition_columns,
                commit_properties=self._properties(),
            )

    def merge(self, paths: Sequence[str], key: Sequence[str]) -> None:
        """Update or insert the rows of these Parquet files."""
        import pyarrow.dataset

        if not paths:
            self.append([])
            return
        source = pyarrow.dataset.dataset(list(paths), format="parquet").scanner().to_reader()
        same = " AND ".join(f"target.{quoted(name)} = source.{quoted(name)}" for name in key)
        # `deltalake` names all columns itself, but trips over a backtick in one.
        values = {f"target.{quoted(it)}": f"source.{quoted(it)}" for it in source.schema.names}
        with self._sentences():
            merger = self._table.merge(
                source, same, "source", "target", commit_properties=self._properties()
            )
            merger.when_matched_update(values).when_not_matched_insert(values).execute()

    def _properties(self) -> Any:
        from deltalake import CommitProperties, Transaction

        if self._batch is None:
            return None
        return CommitProperties(
            app_transactions=[Transaction(self._batch.query, self._batch.batch_id)]
        )

    @contextmanager
    def _sentences(self) -> Iterator[None]:
        from deltalake.exceptions import CommitFailedError, DeltaError

        try:
            yield
        except CommitFailedError as error:
            # Somebody else's commit came between, of this batch perhaps: look again.
            raise StoreUnavailable(f"Delta table {self.root}: {one_line(error)}.") from None
        except (DeltaError, OSError) as error:
            raise StoreError(f"Delta table {self.root}: {one_line(error)}.") from None


def quoted(column: str) -> str:
    """A column's name in a condition, whatever is in it."""
    return '"' + column.replace('"', '""') + '"'


def nullable(schema: Any) -> Any:
    """Spark's schema with nulls allowed everywhere: what a query happens to know binds no table."""
    if isinstance(schema, list):
        return [nullable(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    relaxed = {"nullable", "containsNull", "valueContainsNull"}
    return {
        name: {} if name == "metadata" else True if name in relaxed else nullable(part)
        for name, part in schema.items()
    }


def differences(rows: dict[str, Any], table: dict[str, Any]) -> list[str]:
    """What keeps rows from going into the table; columns that they lack become null."""
    there = {field["name"]: field["type"] for field in nullable(table)["fields"]}
    found = []
    for field in rows["fields"]:
        name = field["name"]
        if name not in there:
            found.append(f"no column {name}")
        elif there[name] != field["type"]:
            found.append(f"{name} as {_type(there[name])}, not as {_type(field['type'])}")
    return found


def _type(kind: Any) -> str:
    return kind if isinstance(kind, str) else str(kind["type"])
