"""The statements of one batch: ledger, staging table, merge. All names are quoted by psycopg."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.spark.stores.batches import Batch
from headrace.spark.stores.errors import StoreError, StoreUnavailable
from headrace.spark.stores.postgres_link import place

#: The last batch of each query in each table.
LEDGER = "headrace_batches"

_COLUMNS = """
SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute
WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped
"""


@dataclass(frozen=True, slots=True)
class Table:
    """A table, and what is asked of it."""

    name: str
    key: Sequence[str] = ()

    def identifier(self, name: str | None = None) -> Any:
        """The table, or another one in its schema."""
        from psycopg import sql

        schema, _, table = self.name.rpartition(".")
        return sql.Identifier(*([schema] if schema else []), name or table)

    # ---------------------------------------------------------------- before the rows

    def create(self, link: Any, types: Mapping[str, str]) -> None:
        """Make the table unless it is there."""
        from psycopg import sql

        parts = [sql.SQL("{} " + kind).format(sql.Identifier(it)) for it, kind in types.items()]
        if self.key:
            parts.append(sql.SQL("PRIMARY KEY ({})").format(_names(self.key)))
        make = sql.SQL("CREATE TABLE IF NOT EXISTS {} ({})")
        link.execute(make.format(self.identifier(), sql.SQL(", ").join(parts)))

    def columns(self, link: Any) -> dict[str, str]:
        """The types of the table's columns."""
        found = link.execute(_COLUMNS, [self.identifier().as_string(link)]).fetchall()
        if not found:
            where = place(link.info.get_parameters())
            raise StoreError(
                f"There is no table {self.name} at {where}; make it first, or say create=True."
            )
        return dict(found)

    def make_ledger(self, link: Any) -> None:
        from psycopg import sql

        ledger = self.identifier(LEDGER)
        if link.execute("SELECT to_regclass(%s)", [ledger.as_string(link)]).fetchone()[0]:
            return
        # Two queries that make it at once would meet in the catalogue.
        link.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [LEDGER])
        make = """CREATE TABLE IF NOT EXISTS {} (query text, target text, batch_id bigint NOT NULL,
            written_at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (query, target))"""
        link.execute(sql.SQL(make).format(ledger))

    def has(self, link: Any, batch: Batch) -> bool:
        """Whether the batch is a replay of one that was committed."""
        from psycopg import sql

        ask = sql.SQL("SELECT 1 FROM {} WHERE query = %s AND target = %s AND batch_id >= %s")
        row = link.execute(
            ask.format(self.identifier(LEDGER)), [batch.query, self.name, batch.batch_id]
        )
        return row.fetchone() is not None

    def make_staging(self, link: Any, owner: str, token: str, columns: Sequence[str]) -> str:
        """A table for the rows of a batch; those of the owner's earlier attempts go.

        It is not logged, as nobody needs it after a crash, and no session's own, as many tasks
        write to it. Which attempt of which task wrote a row stands beside the row.
        """
        from psycopg import sql

        prefix = (
            "headrace_staging_" + hashlib.sha256(f"{owner} {self.name}".encode()).hexdigest()[:16]
        )
        ask = "SELECT c.oid::regclass::text FROM pg_class c WHERE relname LIKE %s AND relkind = 'r'"
        for (old,) in link.execute(ask, [prefix.replace("_", r"\_") + "%"]).fetchall():
            link.execute(f"DROP TABLE IF EXISTS {old}")  # a regclass is quoted already
        make = """CREATE UNLOGGED TABLE {} AS SELECT {}, 0::integer AS headrace_task,
            0::bigint AS headrace_attempt FROM {} WITH NO DATA"""
        name = f"{prefix}_{token}"
        staging = self.identifier(name)
        link.execute(sql.SQL(make).format(staging, _names(columns), self.identifier()))
        return name

    # ---------------------------------------------------------------- after them

    def claim(self, link: Any, batch: Batch) -> bool:
        """Enter the batch into the ledger; False if another attempt was quicker."""
        from psycopg import sql

        enter = """INSERT INTO {0} AS l (query, target, batch_id) VALUES (%s, %s, %s)
            ON CONFLICT (query, target) DO UPDATE SET batch_id = EXCLUDED.batch_id,
            written_at = now() WHERE l.batch_id < EXCLUDED.batch_id"""
        entered = link.execute(
            sql.SQL(enter).format(self.identifier(LEDGER)), [batch.query, self.name, batch.batch_id]
        )
        return bool(entered.rowcount == 1)

    def merge(
        self, link: Any, staging: str, columns: Sequence[str], done: Mapping[tuple[int, int], int]
    ) -> None:
        """Take over the rows of the attempts that Spark counts, and no others."""
        from psycopg import sql

        attempts = [[task for task, _ in done], [attempt for _, attempt in done]]
        rows = sql.SQL(
            "{} JOIN unnest(%s::integer[], %s::bigint[]) AS done (headrace_task, headrace_attempt)"
            " USING (headrace_task, headrace_attempt)"
        ).format(self.identifier(staging))
        count = link.execute(sql.SQL("SELECT count(*) FROM {}").format(rows), attempts)
        if count.fetchone()[0] != sum(done.values()):
            # A crash of the server empties tables that are not logged.
            raise StoreUnavailable(
                f"The rows staged for {self.name} at {place(link.info.get_parameters())} are gone."
            )
        insert = sql.SQL("INSERT INTO {} ({}) SELECT {} FROM {}{}").format(
            self.identifier(), _names(columns), _names(columns), rows, self._on_conflict(columns)
        )
        link.execute(insert, attempts)
        self.drop(link, staging)

    def drop(self, link: Any, staging: str) -> None:
        from psycopg import sql

        link.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(self.identifier(staging)))

    def _on_conflict(self, columns: Sequence[str]) -> Any:
        from psycopg import sql

        if not self.key:
            return sql.SQL("")
        others = [name for name in columns if name not in self.key]
        if not others:
            return sql.SQL(" ON CONFLICT ({}) DO NOTHING").format(_names(self.key))
        sets = [sql.SQL("{0} = EXCLUDED.{0}").format(sql.Identifier(name)) for name in others]
        return sql.SQL(" ON CONFLICT ({}) DO UPDATE SET {}").format(
            _names(self.key), sql.SQL(", ").join(sets)
        )


def _names(names: Sequence[str]) -> Any:
    from psycopg import sql

    return sql.SQL(", ").join(map(sql.Identifier, names))
