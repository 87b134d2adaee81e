"""Follows a topic as a consumer group and hands its values on: at least once, until SIGTERM."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

from confluent_kafka import Consumer, KafkaException

from examples.orders.topics import Values

_BATCH = 500


def follow(
    bootstrap_servers: str,
    registry_url: str,
    topic: str,
    group: str,
    handle: Callable[[Sequence[dict[str, Any]]], None],
) -> int:
    """The group's place moves on only after `handle` has returned; the exit code."""
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    values = Values(registry_url)
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            # The service's transactions: states that were not committed are not seen.
            "isolation.level": "read_committed",
        }
    )
    consumer.subscribe([topic])
    try:
        while not stop.is_set():
            messages = [m for m in consumer.consume(_BATCH, timeout=0.2) if m.error() is None]
            orders = values.decode.all([message.value() for message in messages])
            while messages and not stop.is_set():
                try:
                    handle(orders)
                    consumer.commit(asynchronous=False)
                    break
                except OSError as error:  # what it writes to is away: try again
                    print(error, file=sys.stderr)
                    stop.wait(1)
    except KafkaException as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        consumer.close()
    return 0
