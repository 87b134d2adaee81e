"""The orders service: orders come in over HTTP, and their state is answered.

python -m examples.orders.service --port 8090

curl -X POST localhost:8090/orders -d '{"customer": "ann", "product": "tea", "quantity": 2}'
curl localhost:8090/orders/ID
curl 'localhost:8090/orders?q=tea'
"""

from __future__ import annotations

import re
import sqlite3
import sys
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import uvicorn
from confluent_kafka import KafkaException
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from examples.orders.catalogue import CATALOGUE
from examples.orders.order_book import CREATED, Order, OrderBook
from examples.orders.search import SearchView
from examples.orders.topics import Values, arguments

_FIELDS = {"id", "customer", "product", "quantity", "price_cents", "placed_at"}
#: What can stand in an address, of the web or of mail.
_NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")
_QUANTITY_MAX = 1_000_000
_PRICE_CENTS_MAX = 1_000_000_000
#: In year 9999 Python's calendar ends.
_TIME_MS_MAX = 253_402_300_799_000


def parse_order(body: Any, now: datetime) -> Order:
    """Right in form; whether it makes sense is for the checks to say. Raises ValueError."""
    if not isinstance(body, dict) or not body.keys() <= _FIELDS:
        raise ValueError(f"An order is a JSON object with {', '.join(sorted(_FIELDS))}.")
    product = body.get("product")
    if not isinstance(product, str) or not 0 < len(product) <= 100:
        raise ValueError("'product' is a text of 1 to 100 characters.")
    # What the customer saw, unless they say so.
    price_cents = CATALOGUE[product].price_cents if product in CATALOGUE else 0
    placed_ms = _number(body, "placed_at", int(now.timestamp() * 1000), _TIME_MS_MAX)
    return {
        "id": _name(body, "id", str(uuid.uuid4())),
        "customer": _name(body, "customer", ""),
        "product": product,
        "quantity": _number(body, "quantity", 1, _QUANTITY_MAX),
        "price_cents": _number(body, "price_cents", price_cents, _PRICE_CENTS_MAX),
        "placed_at": datetime.fromtimestamp(placed_ms / 1000, UTC),
        "received_at": now,
        "state": CREATED,
        "reason": "",
    }


def _name(body: dict[str, Any], field: str, default: str) -> str:
    value = body.get(field, default)
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise ValueError(f"'{field}' is a name of letters, digits, dots, dashes and underscores.")
    return value


def _number(body: dict[str, Any], name: str, default: int, largest: int) -> int:
    value = body.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= largest:
        raise ValueError(f"'{name}' is a whole number from 0 to {largest}.")
    return value


def as_json(order: Order) -> dict[str, Any]:
    times = ("placed_at", "received_at")
    return {name: it.isoformat() if name in times else it for name, it in order.items()}


class Service:
    """The handlers; the book knows each order, the search view finds them by their words."""

    def __init__(self, book: OrderBook, search: SearchView) -> None:
        self._book = book
        self._search = search

    async def post(self, request: Request) -> Response:
        try:
            order = parse_order(await request.json(), datetime.now(UTC))
        except ValueError as error:
            raise HTTPException(400, str(error)) from error
        except RecursionError as error:
            raise HTTPException(400, "The JSON is nested too deeply.") from error
        try:
            order, is_new = await self._book.place(order)
        except KafkaException as error:
            raise HTTPException(503, "The order could not be written; send it again.") from error
        headers = {"Location": f"/orders/{order['id']}"}
        return JSONResponse(as_json(order), 201 if is_new else 200, headers)

    async def get(self, request: Request) -> Response:
        order = self._book.find(request.path_params["order_id"])
        if order is None:
            raise HTTPException(404, "There is no such order.")
        return JSONResponse(as_json(order))

    async def find(self, request: Request) -> Response:
        """`?q=tea+failed`: orders that have all the words, the latest first."""
        query = request.query_params
        limit = query.get("limit", "20")
        if not limit.isdecimal():
            raise HTTPException(400, "'limit' is a whole number.")
        try:
            found = await run_in_threadpool(self._search.find, query.get("q", ""), int(limit))
        except sqlite3.OperationalError as error:
            raise HTTPException(503, "There is no search view yet.") from error
        return JSONResponse(found)


def make_app(book: OrderBook, search: SearchView) -> Starlette:
    service = Service(book, search)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        await run_in_threadpool(book.start)
        yield
        await run_in_threadpool(book.stop)

    async def failed(_request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return JSONResponse({"error": error.detail}, error.status_code)

    return Starlette(
        routes=[
            Route("/orders", service.post, methods=["POST"]),
            Route("/orders", service.find),
            Route("/orders/{order_id}", service.get),
        ],
        lifespan=lifespan,
        exception_handlers={HTTPException: failed},
    )


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--port", type=int, default=8090)
    parser.add_argument("--search", default="search.db", help="the file of the search view")
    args = parser.parse_args()
    failures: list[str] = []

    def fail(reason: str) -> None:
        """What is in memory may differ from the topic: end, and be started again."""
        failures.append(reason)
        server.should_exit = True

    book = OrderBook(args.bootstrap_server, Values(args.registry), fail)
    app = make_app(book, SearchView(args.search))
    config = uvicorn.Config(app, host="127.0.0.1", port=args.port, log_level="warning")
    server = uvicorn.Server(config)
    server.run()
    for reason in failures:
        print(reason, file=sys.stderr)
    return 1 if failures or not server.started else 0


if __name__ == "__main__":
    sys.exit(main())
