"""A node, a producer and a consumer, live on the screen: `make demo`.

The node is Headrace, started without any configuration. The producer and the consumer are
confluent-kafka, which knows nothing of Headrace. At the end every record is accounted for, and
nothing is left running or on the disk.
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import sys
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition

from headrace.testing import EmbeddedKafka

TOPIC = "orders"
PARTITIONS = 3
STEADY_PER_SECOND = 2_000
#: The last part of the demo goes as fast as this one Python process can.
FULL_SPEED_SHARE = 0.25
GOODS = ("tea", "bread", "olives", "apples", "cheese", "pears", "honey", "rice")


@dataclass
class Exchange:
    """What was sent and what came back, counted by the two threads."""

    sent: list[int] = field(default_factory=lambda: [0] * PARTITIONS)
    acknowledged: list[int] = field(default_factory=lambda: [0] * PARTITIONS)
    received: list[int] = field(default_factory=lambda: [0] * PARTITIONS)
    problems: list[str] = field(default_factory=list)
    latest: deque[str] = field(default_factory=lambda: deque(maxlen=6))
    latencies_ms: deque[float] = field(default_factory=lambda: deque(maxlen=20_000))
    is_full_speed: bool = False
    all_sent: threading.Event = field(default_factory=threading.Event)

    def problem(self, text: str) -> None:
        if len(self.problems) < 10:
            self.problems.append(text)


def produce(bootstrap: str, exchange: Exchange, seconds: float, stop: threading.Event) -> None:
    """Numbered orders to every partition, at a steady pace and then at full speed."""
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "enable.idempotence": True,
            "linger.ms": 1,
            "queue.buffering.max.messages": 10_000,
        }
    )

    def delivered(error: Any, message: Any) -> None:
        if error is not None:
            exchange.problem(f"a record was refused: {error}")
        else:
            exchange.acknowledged[message.partition()] += 1

    started = time.monotonic()
    total = 0
    while not stop.is_set() and (elapsed := time.monotonic() - started) < seconds:
        exchange.is_full_speed = elapsed > seconds * (1 - FULL_SPEED_SHARE)
        if not exchange.is_full_speed and total > elapsed * STEADY_PER_SECOND:
            producer.poll(0.005)
            continue
        for _ in range(100 if exchange.is_full_speed else 10):
            partition = total % PARTITIONS
            number = exchange.sent[partition]
            order = {"order": number, "item": GOODS[total % len(GOODS)], "at": time.time_ns()}
            try:
                producer.produce(
                    TOPIC,
                    key=b"customer-%d" % (total % 997),
                    value=json.dumps(order).encode(),
                    partition=partition,
                    on_delivery=delivered,
                )
            except BufferError:  # the client's own queue is full
                producer.poll(0.05)
                continue
            exchange.sent[partition] += 1
            total += 1
        producer.poll(0)
    if producer.flush(60):
        exchange.problem("not every record was acknowledged within a minute")
    exchange.all_sent.set()


def consume(bootstrap: str, exchange: Exchange) -> None:
    """Read all partitions from their beginning and look at every record."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "demo",
            "enable.auto.commit": False,
            "fetch.wait.max.ms": 100,
        }
    )
    consumer.assign([TopicPartition(TOPIC, p, OFFSET_BEGINNING) for p in range(PARTITIONS)])
    idle_since = time.monotonic()
    while True:
        # The first as soon as it is there, and with it whatever else has come.
        first = consumer.poll(0.05)
        messages = [] if first is None else [first, *consumer.consume(2_000, timeout=0)]
        now = time.time_ns()
        for message in messages:
            check(message, exchange, now)
        if messages:
            idle_since = time.monotonic()
        elif exchange.all_sent.is_set() and (
            exchange.received == exchange.acknowledged or time.monotonic() - idle_since > 10
        ):
            break
    consumer.close()


def check(message: Any, exchange: Exchange, now: int) -> None:
    """Each partition's orders are numbered, and a new topic's offsets begin at 0."""
    if message.error() is not None:
        exchange.problem(f"the consumer was told: {message.error()}")
        return
    partition = message.partition()
    order = json.loads(message.value())
    wanted = exchange.received[partition]
    if order["order"] != wanted or message.offset() != wanted:
        exchange.problem(
            f"partition {partition}: order {order['order']} at offset {message.offset()}"
            f" came where {wanted} was due"
        )
    exchange.received[partition] = wanted + 1
    exchange.latencies_ms.append((now - order["at"]) / 1e6)
    if wanted % 100 == 0:
        key = message.key().decode()
        exchange.latest.append(f"{partition}:{wanted:<9} {key:<14} {order['item']}")


class View:
    """The state of the exchange, drawn in place on a terminal, a line a second elsewhere."""

    def __init__(self, exchange: Exchange, bootstrap: str) -> None:
        self._exchange = exchange
        self._bootstrap = bootstrap
        self._is_live = sys.stdout.isatty()
        self._lines = 0
        #: Time and counts of the last two seconds, for the rates.
        self._past: deque[tuple[float, int, int]] = deque(maxlen=20 if self._is_live else 3)

    @property
    def interval_s(self) -> float:
        return 0.1 if self._is_live else 1.0

    def show(self) -> None:
        exchange = self._exchange
        sent, received = sum(exchange.acknowledged), sum(exchange.received)
        self._past.append((time.monotonic(), sent, received))
        passed = self._past[-1][0] - self._past[0][0] or 1.0
        rates = [(self._past[-1][i] - self._past[0][i]) / passed for i in (1, 2)]
        if not self._is_live:
            print(
                f"acknowledged {sent:>9,} ({rates[0]:>9,.0f}/s)   "
                f"received {received:>9,} ({rates[1]:>9,.0f}/s)",
                flush=True,
            )
            return
        pace = "as fast as it can" if exchange.is_full_speed else "steady"
        lines = [
            f"\x1b[1mHeadrace\x1b[0m on {self._bootstrap}   topic {TOPIC}   {pace}",
            "",
            f"  producer  {sent:>10,} acknowledged   {rates[0]:>9,.0f} records/s",
            f"  consumer  {received:>10,} received       {rates[1]:>9,.0f} records/s"
            + latency(exchange),
            "",
            *(self._bar(partition) for partition in range(PARTITIONS)),
            "",
            "  latest records \x1b[2m(partition:offset, key, value)\x1b[0m",
            *(f"  \x1b[36m{text}\x1b[0m" for text in exchange.latest),
        ]
        self._draw(lines)

    def _bar(self, partition: int) -> str:
        exchange = self._exchange
        end, position = exchange.acknowledged[partition], exchange.received[partition]
        width = 30
        filled = round(width * end / max(1, *exchange.acknowledged))
        bar = "\x1b[32m" + "━" * filled + "\x1b[0m" + " " * (width - filled)
        behind = max(0, end - position)
        return f"  partition {partition}  {bar} offset {position:>9,}   {behind:>6,} behind"

    def _draw(self, lines: list[str]) -> None:
        height = shutil.get_terminal_size().lines - 1
        lines = lines[:height]
        up = f"\x1b[{self._lines}A" if self._lines else ""
        sys.stdout.write(up + "".join(f"\x1b[2K{line}\n" for line in lines))
        sys.stdout.flush()
        self._lines = len(lines)


def latency(exchange: Exchange) -> str:
    """Middle and 99th of the last records' way from the producer to the consumer."""
    recent = sorted(list(exchange.latencies_ms)[-2000:])
    if not recent:
        return ""
    middle, high = recent[len(recent) // 2], recent[len(recent) * 99 // 100]
    return f"   {middle:.1f} ms, p99 {high:.1f} ms"


def summary(exchange: Exchange, started_in_s: float) -> bool:
    """What came of it; True if all is well."""
    acknowledged, received = sum(exchange.acknowledged), sum(exchange.received)
    if exchange.received != exchange.acknowledged:
        exchange.problem(f"{acknowledged:,} records acknowledged, but {received:,} received")
    if exchange.sent != exchange.acknowledged:
        exchange.problem(f"{sum(exchange.sent):,} records sent, {acknowledged:,} acknowledged")
    print()
    print(f"The node was up in {started_in_s:.2f} s.")
    if exchange.problems:
        for problem in exchange.problems:
            print(f"NOT WELL: {problem}")
        return False
    print(f"{received:,} records sent, acknowledged and received: each once, in order.")
    return True


def run(seconds: float) -> int:
    exchange, stop = Exchange(), threading.Event()
    begun = time.monotonic()
    with EmbeddedKafka() as kafka:
        started_in_s = time.monotonic() - begun
        kafka.create_topic(TOPIC, partitions=PARTITIONS)
        view = View(exchange, kafka.bootstrap_servers)
        threads = [
            threading.Thread(
                target=produce, args=(kafka.bootstrap_servers, exchange, seconds, stop)
            ),
            threading.Thread(target=consume, args=(kafka.bootstrap_servers, exchange)),
        ]
        signal.signal(signal.SIGINT, lambda *_: stop.set())
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            view.show()
            threads[-1].join(view.interval_s)
        view.show()
    is_well = summary(exchange, started_in_s)
    print("The node is stopped and its data is gone.")
    return 0 if is_well else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=12.0, help="how long (default: 12)")
    sys.exit(run(parser.parse_args().seconds))
