"""The search view: the last state of every order in SQLite's full-text index.

    python -m examples.orders.search --file search.db

It reads topic `orders` as the consumer group `search`, and commits its place after the rows: after
a crash it sees some records again, which change nothing, because each row has its order's id.
"""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Sequence
from contextlib import closing
from typing import Any

from examples.orders.following import follow
from examples.orders.topics import ORDERS, arguments

_COLUMNS = ("id", "customer", "product", "quantity", "price_cents", "state", "reason")
_SETUP = """
PRAGMA journal_mode = WAL;
CREATE TABLE IF NOT EXISTS orders (
    number INTEGER PRIMARY KEY, id TEXT UNIQUE, customer TEXT, product TEXT,
    quantity INTEGER, price_cents INTEGER, state TEXT, reason TEXT);
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5 (
    id, customer, product, state, reason, content=orders, content_rowid=number);
CREATE TRIGGER IF NOT EXISTS added AFTER INSERT ON orders BEGIN
    INSERT INTO words (rowid, id, customer, product, state, reason)
    VALUES (new.number, new.id, new.customer, new.product, new.state, new.reason);
END;
CREATE TRIGGER IF NOT EXISTS changed AFTER UPDATE ON orders BEGIN
    INSERT INTO words (words, rowid, id, customer, product, state, reason)
    VALUES ('delete', old.number, old.id, old.customer, old.product, old.state, old.reason);
    INSERT INTO words (rowid, id, customer, product, state, reason)
    VALUES (new.number, new.id, new.customer, new.product, new.state, new.reason);
END;
"""
#: A replayed CREATED does not undo what came after it.
_PUT = f"""
INSERT INTO orders ({", ".join(_COLUMNS)}) VALUES ({", ".join("?" * len(_COLUMNS))})
ON CONFLICT (id) DO UPDATE SET state = excluded.state, reason = excluded.reason
WHERE orders.state = 'CREATED'
"""
_FIND = f"""
SELECT {", ".join(f"orders.{name}" for name in _COLUMNS)}
FROM words JOIN orders ON orders.number = words.rowid
WHERE words MATCH ? ORDER BY orders.number DESC LIMIT ?
"""
_LATEST = f"SELECT {', '.join(_COLUMNS)} FROM orders ORDER BY number DESC LIMIT ?"


class SearchView:
    """Many may read the file while one process writes it."""

    def __init__(self, path: str) -> None:
        self._path = path

    def create(self) -> None:
        with closing(sqlite3.connect(self._path)) as database:
            database.executescript(_SETUP)

    def put(self, orders: Sequence[dict[str, Any]]) -> None:
        rows = [[order[name] for name in _COLUMNS] for order in orders]
        with closing(sqlite3.connect(self._path)) as database, database:
            database.executemany(_PUT, rows)

    def count(self) -> int:
        with closing(sqlite3.connect(f"file:{self._path}?mode=ro", uri=True)) as database:
            return int(database.execute("SELECT count(*) FROM orders").fetchone()[0])

    def find(self, text: str, limit: int = 20) -> list[dict[str, Any]]:
        """Orders that have every word of the text, the latest first; without words all of them."""
        # Quoted, a word means itself, whatever FTS5's own language makes of it.
        words = " ".join('"{}"'.format(word.replace('"', '""')) for word in text.split())
        query, values = (_FIND, (words, limit)) if words else (_LATEST, (limit,))
        with closing(sqlite3.connect(f"file:{self._path}?mode=ro", uri=True)) as database:
            return [
                dict(zip(_COLUMNS, row, strict=True)) for row in database.execute(query, values)
            ]


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--file", default="search.db")
    args = parser.parse_args()
    view = SearchView(args.file)
    view.create()
    return follow(args.bootstrap_server, args.registry, ORDERS, "search", view.put)


if __name__ == "__main__":
    sys.exit(main())
