"""Everything that is in the topics of the example, read by a client of its own.

The demo draws its picture from it while things go on, and `audit` compares it with what was posted.
"""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from datetime import datetime
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from examples.orders.topics import (
    DECISIONS,
    LATE_ORDERS,
    ORDERS,
    PARTITIONS,
    SALES,
    SCHEMAS,
    VALIDATIONS,
    Values,
)

Value = dict[str, Any]


class Ledger:
    """Records by order, in the order of their offsets."""

    def __init__(self) -> None:
        self.orders: defaultdict[str, list[Value]] = defaultdict(list)
        self.validations: defaultdict[str, list[Value]] = defaultdict(list)
        self.decisions: defaultdict[str, list[Value]] = defaultdict(list)
        self.late: defaultdict[str, list[Value]] = defaultdict(list)
        #: The last figures of each minute, and of each product in it.
        self.sales: dict[datetime, Value] = {}
        self.product_sales: dict[tuple[datetime, str], Value] = {}
        self.states: Counter[str] = Counter()

    def take(self, topic: str | None, value: Value) -> None:
        if topic == ORDERS:
            self._take_order(value)
        elif topic == VALIDATIONS:
            self.validations[value["order_id"]].append(value)
        elif topic == DECISIONS:
            self.decisions[value["order_id"]].append(value)
        elif topic == LATE_ORDERS:
            self.late[value["id"]].append(value)
        elif topic == SALES and value["product"] is None:
            self.sales[value["minute"]] = value
        elif topic == SALES:
            self.product_sales[value["minute"], value["product"]] = value

    def _take_order(self, order: Value) -> None:
        events = self.orders[order["id"]]
        if events:
            self.states[events[-1]["state"]] -= 1
        events.append(order)
        self.states[order["state"]] += 1

    def is_settled(self, count: int) -> bool:
        """Every one of so many orders has come to its end, and the sales have counted it."""
        finished = self.states["VALIDATED"] + self.states["FAILED"]
        counted = sum(minute["orders"] for minute in list(self.sales.values())) + len(self.late)
        return finished == count and counted >= self.states["VALIDATED"]

    def revenue_cents(self) -> int:
        return sum(minute["revenue_cents"] for minute in list(self.sales.values()))

    def top_products(self, limit: int = 3) -> list[tuple[str, int]]:
        """Products by revenue over all minutes, in cents."""
        total: Counter[str] = Counter()
        for (_minute, product), value in list(self.product_sales.items()):
            total[product] += value["revenue_cents"]
        return total.most_common(limit)


class Reader:
    """Keeps a ledger up to date from a thread of its own."""

    def __init__(self, bootstrap_servers: str, values: Values) -> None:
        self.ledger = Ledger()
        self._values = values
        self._is_stopping = threading.Event()
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap_servers,
                "group.id": "ledger",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
            }
        )
        self._thread = threading.Thread(target=self._read, daemon=True)

    def start(self) -> None:
        self._consumer.assign(
            [
                TopicPartition(topic, partition, OFFSET_BEGINNING)
                for topic in SCHEMAS
                for partition in range(PARTITIONS)
            ]
        )
        self._thread.start()

    def stop(self) -> None:
        self._is_stopping.set()
        self._thread.join()
        self._consumer.close()

    def _read(self) -> None:
        while not self._is_stopping.is_set():
            for message in self._consumer.consume(1000, timeout=0.2):
                if message.error() is None:
                    self.ledger.take(message.topic(), self._values.decode(message.value()))
