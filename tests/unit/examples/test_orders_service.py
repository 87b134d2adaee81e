"""The orders service of the example on a real node: its web side, and the book behind it."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from starlette.testclient import TestClient

from examples.orders.demo.ledger import Reader
from examples.orders.order_book import OrderBook
from examples.orders.search import SearchView
from examples.orders.service import make_app, parse_order
from examples.orders.topics import DECISIONS, Values, create_topics
from headrace.testing import EmbeddedKafka
from tests.support.readiness import eventually
from tests.support.small_registry import small_registry

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def values() -> Iterator[Values]:
    with small_registry() as registry:
        values = Values(registry.url)
        yield values
        values.close()


@pytest.fixture
def node() -> Iterator[str]:
    with EmbeddedKafka() as kafka:
        create_topics(kafka.bootstrap_servers)
        yield kafka.bootstrap_servers


@pytest.fixture
def reader(node: str, values: Values) -> Iterator[Reader]:
    reader = Reader(node, values)
    reader.start()
    yield reader
    reader.stop()


@pytest.fixture
def client(node: str, values: Values, tmp_path: Path) -> Callable[[], TestClient]:
    """A service, started anew with each `with`."""

    def make() -> TestClient:
        book = OrderBook(node, values, pytest.fail)
        return TestClient(make_app(book, SearchView(str(tmp_path / "search.db"))))

    return make


def decide(node: str, values: Values, order_id: str, state: str) -> None:
    producer = Producer({"bootstrap.servers": node})
    value = values.encode(DECISIONS, {"order_id": order_id, "state": state, "reason": "why"})
    producer.produce(DECISIONS, key=order_id, value=value)
    producer.flush()


def test_an_order_is_taken_once_decided_once_and_known_after_a_restart(
    node: str, values: Values, reader: Reader, client: Callable[[], TestClient]
) -> None:
    order = {"id": "a", "customer": "ann", "product": "tea", "quantity": 2}
    with client() as service:
        assert service.get("/orders/a").status_code == 404
        answer = service.post("/orders", json=order)
        assert answer.status_code == 201
        assert answer.headers["Location"] == "/orders/a"
        assert service.post("/orders", json=order).status_code == 200
        assert service.get("/orders/a").json()["state"] == "CREATED"
        decide(node, values, "a", "VALIDATED")
        decide(node, values, "a", "FAILED")
        eventually(lambda: service.get("/orders/a").json()["state"] == "VALIDATED")
    with client() as service:
        assert service.get("/orders/a").json()["state"] == "VALIDATED"
        service.post("/orders", json={**order, "id": "b"})
        decide(node, values, "b", "FAILED")
        eventually(lambda: service.get("/orders/b").json()["state"] == "FAILED")
    eventually(lambda: len(reader.ledger.orders["b"]) == 2)
    states = {
        order_id: [event["state"] for event in events]
        for order_id, events in reader.ledger.orders.items()
    }
    assert states == {"a": ["CREATED", "VALIDATED"], "b": ["CREATED", "FAILED"]}


def test_orders_are_searched_in_the_view(client: Callable[[], TestClient], tmp_path: Path) -> None:
    with client() as service:
        assert service.get("/orders?q=tea").status_code == 503
        view = SearchView(str(tmp_path / "search.db"))
        view.create()
        view.put([{**parse_order({"customer": "ann", "product": "tea"}, NOW), "id": "a"}])
        assert [order["id"] for order in service.get("/orders?q=tea").json()] == ["a"]
        assert service.get("/orders?limit=x").status_code == 400
        for body in ("{", "[" * 200_000):
            assert service.post("/orders", content=body).status_code == 400


@pytest.mark.parametrize(
    "body",
    [
        [],
        {"customer": "ann"},
        {"product": "tea"},
        {"customer": "ann\nBcc: all", "product": "tea"},
        {"customer": "ann", "product": "tea", "quantity": -1},
        {"customer": "ann", "product": "tea", "quantity": "2"},
        {"customer": "ann", "product": "tea", "quantity": True},
        {"customer": "ann", "product": "tea", "price_cents": 10**18},
        {"customer": "ann", "product": "tea", "placed_at": 10**17},
        {"customer": "ann", "product": "tea", "id": "a/b"},
        {"customer": "ann", "product": "tea", "state": "VALIDATED"},
    ],
)
def test_what_is_not_an_order_is_refused(body: Any) -> None:
    with pytest.raises(ValueError, match=r"^'?[A-Za-z].*\.$"):
        parse_order(body, NOW)


def test_an_order_without_a_price_or_a_time_gets_those_of_the_shop() -> None:
    order = parse_order({"customer": "ann", "product": "tea"}, NOW)
    assert (order["price_cents"], order["quantity"], order["placed_at"]) == (760, 1, NOW)
