"""PostgreSQL: rows by key or rows appended, one transaction a batch, each batch once.

The tasks COPY their rows into a staging table, so that no batch has to fit into the driver. One
transaction of the driver then merges them and enters the batch into a ledger in the same database:
a replay finds its batch there, whether or not the answer to the commit ever arrived.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.spark.errors import OptionError
from headrace.spark.stores.batches import Batch, write_batches
from headrace.spark.stores.errors import StoreError, require
from headrace.spark.stores.last_per_key import last_per_key, quoted, require_columns
from headrace.spark.stores.postgres_columns import as_text, column_type
from headrace.spark.stores.postgres_link import connection
from headrace.spark.stores.postgres_table import Table
from headrace.spark.stores.postgres_tasks import copy_rows
from headrace.spark.stores.retrying import Retries, with_retries

_DONE = "task int, attempt bigint, rows bigint"


def to_postgres(
    df: Any,
    table: str,
    *,
    dsn: str,
    key: Sequence[str] = (),
    order_by: str | None = None,
    create: bool = False,
    connections: int = 8,
    retries: Retries | None = None,
    query: str | None = None,
    batch_id: int | None = None,
) -> Any:
    """Write to a table; a `DataStreamWriter` if the DataFrame streams.

    With `key` a row takes the place of the one with the same key (the columns need a unique
    constraint), and of several in a batch the one with the highest `order_by` stays, or the last.
    Without, rows are appended. `create` makes the table from the DataFrame's types.
    """
    require("psycopg", "to_postgres")
    names = [key] if isinstance(key, str) else list(key)
    require_columns(df, [*names, *([] if order_by is None else [order_by])])
    if connections < 1:
        raise OptionError(f"connections has to be positive, not {connections}.")
    target = PostgresTarget(
        *(dsn, Table(table, names), order_by, create, connections, retries or Retries())
    )
    what = f"PostgreSQL table {table}"
    return write_batches(df, target.write, what=what, query=query, batch_id=batch_id)


@dataclass(frozen=True, slots=True)
class PostgresTarget:
    """A table that batches are written to."""

    dsn: str
    table: Table
    order_by: str | None = None
    create: bool = False
    connections: int = 8
    retries: Retries = field(default_factory=Retries)

    def write(self, df: Any, batch: Batch | None) -> None:
        with_retries(lambda: self._try(df, batch), self.retries)

    def _try(self, df: Any, batch: Batch | None) -> None:
        token = secrets.token_hex(4)
        with connection(self.dsn) as link:
            types = self._prepare(link, df)
            if batch is not None:
                self.table.make_ledger(link)
                if self.table.has(link, batch):
                    return
            owner = batch.query if batch is not None else token
            staging = self.table.make_staging(link, owner, token, df.columns)
        try:
            done = self._stage(df, types, staging)
            self._merge(df.columns, batch, staging, done)
        except BaseException:
            with contextlib.suppress(StoreError), connection(self.dsn) as link:
                self.table.drop(link, staging)
            raise

    def _prepare(self, link: Any, df: Any) -> dict[str, str]:
        if self.create:
            wanted = {it.name: column_type(it.name, it.dataType) for it in df.schema.fields}
            self.table.create(link, wanted)
        types = self.table.columns(link)
        missing = [name for name in df.columns if name not in types]
        if missing:
            raise StoreError(
                f"Table {self.table.name} has no column {', '.join(missing)}; it has"
                f" {', '.join(types)}."
            )
        return types

    def _stage(self, df: Any, types: dict[str, str], staging: str) -> dict[tuple[int, int], int]:
        """Every task's rows into the staging table; how many rows each counted attempt wrote."""
        rows = last_per_key(df, self.table.key, self.order_by) if self.table.key else df
        fields = {it.name: it.dataType for it in df.schema.fields}
        texts = [
            as_text(name, rows[quoted(name)], kind, types[name]).alias(name)
            for name, kind in fields.items()
        ]
        copy = copy_rows(self.dsn, self.table, staging, df.columns)
        tasks = rows.select(*texts).coalesce(self.connections).mapInArrow(copy, _DONE)
        return {(it["task"], it["attempt"]): it["rows"] for it in tasks.collect() if it["rows"]}

    def _merge(
        self,
        columns: Sequence[str],
        batch: Batch | None,
        staging: str,
        done: dict[tuple[int, int], int],
    ) -> None:
        with connection(self.dsn) as link:
            if batch is not None and not self.table.claim(link, batch):
                self.table.drop(link, staging)
            else:
                self.table.merge(link, staging, columns, done)
