"""The orders as their service knows them: the one writer of topic `orders`.

What is in memory is the last state of each order in the topic, so a restart reads it again. A new
state is written in one transaction with the offset of the decision it comes from: a decision is
carried out exactly once, however often the service is started.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Producer, TopicPartition

from examples.orders.topics import DECISIONS, ORDERS, Values

Order = dict[str, Any]
GROUP = "orders-service"
CREATED = "CREATED"
_DELIVERY_SECONDS = 30


class OrderBook:
    """`place` and `find` for the web; a thread that carries out decisions."""

    def __init__(
        self, bootstrap_servers: str, values: Values, on_failure: Callable[[str], None]
    ) -> None:
        self._values = values
        self._on_failure = on_failure
        self._orders: dict[str, Order] = {}
        self._is_stopping = threading.Event()
        server = {"bootstrap.servers": bootstrap_servers}
        self._placing = Producer(
            {**server, "enable.idempotence": True, "delivery.timeout.ms": _DELIVERY_SECONDS * 1000}
        )
        self._deciding = Producer({**server, "transactional.id": GROUP})
        reading = {**server, "isolation.level": "read_committed", "enable.auto.commit": False}
        self._decisions = Consumer({**reading, "group.id": GROUP, "auto.offset.reset": "earliest"})
        self._history = Consumer({**reading, "group.id": GROUP, "enable.partition.eof": True})
        self._threads = [
            threading.Thread(target=self._guarded, args=(work,))
            for work in (self._report_deliveries, self._carry_out_decisions)
        ]

    def start(self) -> None:
        # First: a transaction that a killed predecessor left open ends here.
        self._deciding.init_transactions(_DELIVERY_SECONDS)
        self._read_history()
        self._decisions.subscribe([DECISIONS])
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._is_stopping.set()
        for thread in self._threads:
            thread.join()
        self._placing.flush(_DELIVERY_SECONDS)
        self._decisions.close()

    def find(self, order_id: str) -> Order | None:
        return self._orders.get(order_id)

    async def place(self, order: Order) -> tuple[Order, bool]:
        """The order in the book, and whether it is new: the same id twice is one order."""
        known = self._orders.setdefault(order["id"], order)
        if known is not order:
            return known, False
        try:
            await self._write(order)
        except KafkaException as error:
            # Nobody knows whether it was written: the next start reads the topic and knows.
            self._on_failure(f"Order {order['id']} was not acknowledged: {error}")
            raise
        return order, True

    async def _write(self, order: Order) -> None:
        loop = asyncio.get_running_loop()
        delivered: asyncio.Future[None] = loop.create_future()

        def done(error: Any, _message: Any) -> None:
            if error is None:
                loop.call_soon_threadsafe(delivered.set_result, None)
            else:
                loop.call_soon_threadsafe(delivered.set_exception, KafkaException(error))

        value = self._values.encode(ORDERS, order)
        self._placing.produce(ORDERS, key=order["id"], value=value, on_delivery=done)
        await asyncio.shield(delivered)

    # ---------------------------------------------------------------- threads

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except KafkaException as error:
            self._on_failure(str(error))

    def _report_deliveries(self) -> None:
        while not self._is_stopping.is_set():
            self._placing.poll(0.1)

    def _carry_out_decisions(self) -> None:
        while not self._is_stopping.is_set():
            messages = [m for m in self._decisions.consume(500, timeout=0.2) if m.error() is None]
            if messages:
                changed = self._decided([self._values.decode(it.value()) for it in messages])
                self._commit(changed.values())
                self._orders.update(changed)

    def _decided(self, decisions: Iterable[dict[str, Any]]) -> dict[str, Order]:
        """Orders in their new state: the first decision about an order stands."""
        changed: dict[str, Order] = {}
        for decision in decisions:
            order = self._orders.get(decision["order_id"])
            if order is not None and order["state"] == CREATED and order["id"] not in changed:
                new = {"state": decision["state"], "reason": decision["reason"]}
                changed[order["id"]] = order | new
        return changed

    def _commit(self, orders: Iterable[Order]) -> None:
        """New states and the position behind their decisions, both or neither."""
        producer, consumer = self._deciding, self._decisions
        producer.begin_transaction()
        for order in orders:
            producer.produce(ORDERS, key=order["id"], value=self._values.encode(ORDERS, order))
        producer.send_offsets_to_transaction(
            consumer.position(consumer.assignment()), consumer.consumer_group_metadata()
        )
        producer.commit_transaction()

    def _read_history(self) -> None:
        """All of `orders` from its beginning to its end."""
        consumer = self._history
        partitions = consumer.list_topics(ORDERS, timeout=10).topics[ORDERS].partitions
        consumer.assign([TopicPartition(ORDERS, p, OFFSET_BEGINNING) for p in partitions])
        ended = 0
        while ended < len(partitions):
            for message in consumer.consume(1000, timeout=1):
                if message.error() is not None:  # only the end of a partition
                    ended += 1
                    continue
                order = self._values.decode(message.value())
                self._orders[order["id"]] = order
        consumer.close()
