"""A broker with one coordinator of groups, and requests that are answered in many turns."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headrace.groups.coordinator import GroupCoordinator
from headrace.protocol.messages.find_coordinator import FindCoordinatorRequest
from headrace.protocol.schema import Request
from tests.unit.broker.frames import Exchange, request_frame
from tests.unit.broker.harness import Broker


@contextmanager
def one_coordinator(directory: Path, **topics: int) -> Iterator[Broker]:
    """A broker with these topics, of so many partitions, that coordinates all groups at once."""
    running = Broker(directory, overrides={"offsets.topic.num.partitions": "1"})
    try:
        for topic, partitions in topics.items():
            running.create_topic(topic, partitions)
        running.ask(FindCoordinatorRequest(coordinator_keys=["g"]))
        yield running
    finally:
        running.close()


def coordinator(broker: Broker) -> GroupCoordinator:
    (shard,) = broker.groups.coordinators
    found: GroupCoordinator = shard.coordinator
    return found


def ask(broker: Broker, request: Request) -> Exchange:
    """Send a request, and nothing after it has had its turn."""
    api = broker.table.get(type(request).api_key)
    assert api is not None
    exchange = Exchange(request, api.version_max)
    frame = memoryview(bytearray(request_frame(request, api.version_max)))
    exchange.parked = broker.dispatcher.serve(broker.connection, frame, exchange.take)
    return exchange


def turns_until_answered(broker: Broker, exchange: Exchange) -> int:
    turns = 0
    while not exchange.is_answered:
        broker.scheduler.turn()
        turns += 1
        assert turns < 1_000
    return turns
