"""Orders as a shop's customers send them, most of them good, over HTTP.

python -m examples.orders.load --url http://localhost:8090 --rate 30 --seconds 60
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import json
import random
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from examples.orders.catalogue import CATALOGUE

_MINUTE_MS = 60_000
_GOODS = [product for product in CATALOGUE if product != "truffles"]
_ATTEMPTS = 5


def orders(seed: int) -> Iterator[dict[str, Any]]:
    """Numbered orders without end, the same for the same seed, but for their time."""
    chance = random.Random(seed)
    for number in itertools.count(1):
        order: dict[str, Any] = {
            "id": f"order-{seed}-{number:06}",
            "customer": f"customer-{chance.randrange(200):03}",
            "product": chance.choice(_GOODS),
            "quantity": chance.randint(1, 6),
            "placed_at": time.time_ns() // 1_000_000,
        }
        order |= _oddity(chance, order)
        seen = CATALOGUE.get(order["product"])
        yield {"price_cents": seen.price_cents if seen else 100} | order


def _oddity(chance: random.Random, order: dict[str, Any]) -> dict[str, Any]:
    """What is not as usual about an order: mostly nothing."""
    kind = chance.random()
    if kind < 0.03:  # few are in stock
        return {"product": "truffles", "quantity": 1}
    if kind < 0.07:  # one customer spends too much in too short a time
        return {"customer": "mallory", "product": "cheese", "quantity": 30}
    if kind < 0.085:
        return {"quantity": 0}
    if kind < 0.095:
        return {"price_cents": 1}
    if kind < 0.105:
        return {"product": "unicorns"}
    if kind < 0.135:  # from a telephone that was offline
        return {"placed_at": order["placed_at"] - 10 * _MINUTE_MS}
    return {}


class PostError(Exception):
    """The service did not take an order."""


class Load:
    """Posts orders at a steady rate; `posted` are those that the service has taken."""

    def __init__(self, url: str, rate: float, seed: int = 1) -> None:
        self.posted: dict[str, dict[str, Any]] = {}
        #: Why it ended before its time.
        self.failure: str | None = None
        self._address = urlsplit(url).netloc
        self._rate = rate
        self._orders = orders(seed)

    def run(self, seconds: float, stop: threading.Event) -> None:
        begun = time.monotonic()
        connection = http.client.HTTPConnection(self._address, timeout=30)
        try:
            for number in range(round(seconds * self._rate)):
                if stop.wait(max(0.0, begun + number / self._rate - time.monotonic())):
                    break
                self._post(connection, next(self._orders))
        except PostError as error:
            self.failure = str(error)
        finally:
            connection.close()

    def _post(self, connection: http.client.HTTPConnection, order: dict[str, Any]) -> None:
        """Again until there is an answer: the order has its id, so twice is once."""
        for attempt in range(_ATTEMPTS):
            try:
                connection.request("POST", "/orders", json.dumps(order))
                response = connection.getresponse()
                body = response.read()
            except (OSError, http.client.HTTPException):
                connection.close()
                time.sleep(attempt)
                continue
            if response.status in (200, 201):
                self.posted[order["id"]] = order
                return
            if response.status != 503:
                raise PostError(f"Order {order['id']} was answered {response.status}: {body!r}")
        raise PostError(f"Order {order['id']} could not be posted.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", default="http://localhost:8090")
    parser.add_argument("--rate", type=float, default=30.0, help="orders a second")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    args = parser.parse_args()
    load = Load(args.url, args.rate, args.seed)
    load.run(args.seconds, threading.Event())
    print(f"{len(load.posted)} orders posted")
    if load.failure:
        sys.exit(load.failure)


if __name__ == "__main__":
    main()
