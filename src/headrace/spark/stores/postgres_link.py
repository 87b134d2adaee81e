"""Connections to PostgreSQL whose failures are one sentence, with the host and without a secret."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from headrace.spark.stores.errors import StoreError, StoreUnavailable, one_line, require

_CONNECT_SECONDS = "10"


@contextmanager
def connection(dsn: str) -> Iterator[Any]:
    """A connection with one transaction: committed at the end of the block, or else undone."""
    psycopg = require("psycopg", "to_postgres")
    try:
        given = psycopg.conninfo.conninfo_to_dict(dsn)
    except psycopg.Error as error:
        raise StoreError(f"This is no PostgreSQL dsn: {one_line(error)}.") from None
    defaults = {"connect_timeout": _CONNECT_SECONDS, "application_name": "headrace"}
    # The text of COPY is UTF-8, whatever the database has.
    settings = {**defaults, **given, "client_encoding": "UTF8"}
    try:
        with psycopg.connect(**settings) as link:
            yield link
    except psycopg.OperationalError as error:
        # Down, starting, shutting down, out of room, a deadlock: the same again may do better.
        raise StoreUnavailable(f"PostgreSQL at {place(given)}: {_reason(error)}.") from None
    except psycopg.Error as error:
        raise StoreError(f"PostgreSQL at {place(given)}: {_reason(error)}.") from None


def place(given: dict[str, Any]) -> str:
    """Host, port and database, as far as they were said."""
    host = given.get("host") or given.get("hostaddr") or os.environ.get("PGHOST") or "localhost"
    port = given.get("port") or os.environ.get("PGPORT") or "5432"
    name = given.get("dbname") or os.environ.get("PGDATABASE")
    return f"{host}:{port}" + (f"/{name}" if name else "")


def _reason(error: Any) -> str:
    detail = error.diag.message_detail
    said = one_line(error.diag.message_primary or error)
    return f"{said} ({one_line(detail)})" if detail else said
