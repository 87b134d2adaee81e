"""Two brokers that are asked the same: a client of one is known to it, one of the other never is.

The second gets every request on a new connection, so it always answers in the ordinary way, and
whatever the first answers has to be the same bytes at the same time.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any, Self

import pytest

from headrace.broker.authorization import (
    ANONYMOUS,
    Authorizer,
    Operation,
    Principal,
    ResourceType,
)
from headrace.broker.context import ConnectionInfo
from headrace.broker.known_fetch import KnownFetch
from headrace.broker.known_offset_commit import KnownOffsetCommit
from headrace.broker.known_produce import KnownProduce
from headrace.broker.known_requests import NOT_NOW, KnownRequest
from headrace.log.file_slice import FileSlice
from headrace.metadata import records as r
from headrace.metadata.image import ConfigResource
from headrace.protocol.schema import Request
from tests.unit.broker.frames import Exchange, request_frame
from tests.unit.broker.harness import LISTENER, Broker

PRODUCE, FETCH = 0, 1


class Switch:
    """An authorizer that stops allowing when it is told to."""

    def __init__(self) -> None:
        self.refused: set[tuple[Operation, str]] = set()

    def allows(
        self,
        principal: Principal,
        host: str,
        operation: Operation,
        resource: ResourceType,
        name: str,
    ) -> bool:
        return (operation, name) not in self.refused

    def allows_any(
        self, principal: Principal, host: str, operation: Operation, resource: ResourceType
    ) -> bool:
        return True


class Twin(Broker):
    """A broker that gives the ids 1, 2, 3 to its topics."""

    def __init__(self, directory: Path, **options: Any) -> None:
        self._topic_ids = count(1)
        super().__init__(directory, **options)

    @property
    def _controller_settings(self) -> Any:
        return replace(super()._controller_settings, new_uuid=self._next_id)

    def _next_id(self) -> bytes:
        return next(self._topic_ids).to_bytes(16, "big")


class Pair:
    """The same request to both, and what became of it."""

    def __init__(self, knowing: Exchange, forgetful: Exchange) -> None:
        self.knowing = knowing
        self.forgetful = forgetful

    def check(self) -> None:
        """Both have had the same answer, or none yet."""
        knowing, forgetful = shown(self.knowing), shown(self.forgetful)
        assert knowing == forgetful, f"{knowing} instead of {forgetful}"

    @property
    def is_answered(self) -> bool:
        self.check()
        return self.knowing.is_answered

    @property
    def response(self) -> Any:
        self.check()
        return self.knowing.response

    def abandon(self) -> None:
        for one in (self.knowing, self.forgetful):
            assert one.parked is not None
            one.parked.abandon()


def shown(exchange: Exchange) -> tuple[object, ...]:
    """What is to be the same; why a connection ends is for the log alone."""
    is_parked = exchange.parked is not None and not exchange.parked.is_done
    replies = [
        reply.replace(b"/twin-2/", b"/twin-1/") if isinstance(reply, bytes) else reply and "close"
        for reply in exchange.raw
    ]
    return is_parked, *replies


class Twins:
    """Both brokers."""

    def __init__(self, directory: Path, **options: Any) -> None:
        self.authorizer = Switch()
        self.knowing = Twin(directory / "twin-1", authorizer=self.authorizer, **options)
        self.forgetful = Twin(directory / "twin-2", authorizer=self.authorizer, **options)
        self.brokers = (self.knowing, self.forgetful)
        self.connection = self.knowing.connection
        self.pairs: list[Pair] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """At the end both are the same, whatever was asked."""
        try:
            self.check()
        finally:
            self.close()

    def close(self) -> None:
        for broker in self.brokers:
            broker.close()

    # Requests

    def send(
        self,
        request: Request,
        version: int,
        *,
        client_id: str | None = "tester",
        connection: ConnectionInfo | None = None,
    ) -> Pair:
        frame = request_frame(request, version, client_id=client_id)
        return self.send_frame(frame, request, version, connection)

    def send_frame(
        self,
        frame: bytes,
        request: Request,
        version: int,
        connection: ConnectionInfo | None = None,
    ) -> Pair:
        connection = connection or self.connection
        stranger = new_connection(self.authorizer, connection.lazy_records_from)
        pair = Pair(
            exchange(self.knowing, connection, frame, request, version),
            exchange(self.forgetful, stranger, frame, request, version),
        )
        pair.check()
        self.pairs.append(pair)
        return pair

    # State

    def each(self, change: Callable[[Twin], object]) -> None:
        """Do something to both."""
        for broker in self.brokers:
            change(broker)
            broker.scheduler.settle()

    def create_topic(self, name: str, partitions: int = 1, **configs: str) -> bytes:
        ids = {broker.create_topic(name, partitions, **configs) for broker in self.brokers}
        (topic_id,) = ids
        return topic_id

    def delete_topic(self, name: str) -> None:
        topic_id = self.knowing.plane.image.topics_by_name[name].topic_id
        self.each(lambda broker: broker.plane.apply([r.RemoveTopicRecord(topic_id=topic_id)]))

    def configure(self, topic: str, name: str, value: str | None) -> None:
        record = r.ConfigRecord(
            resource_type=ConfigResource.TOPIC, resource_name=topic, name=name, value=value
        )
        self.each(lambda broker: broker.plane.apply([record]))

    def advance(self, elapsed_ms: int) -> None:
        self.each(lambda broker: broker.advance(elapsed_ms))

    # What must be the same

    def check(self) -> None:
        """Every answer so far, and everything that the answers came from."""
        for pair in self.pairs:
            pair.check()
        knowing, forgetful = (_state(broker) for broker in self.brokers)
        for name, value in knowing.items():
            assert value == forgetful[name], f"{name}: {value} instead of {forgetful[name]}"


def exchange(
    broker: Broker, connection: ConnectionInfo, frame: bytes, request: Request, version: int
) -> Exchange:
    made = Exchange(request, version)

    def take(reply: Any) -> None:
        if isinstance(reply, list):
            reply = [one.read() if isinstance(one, FileSlice) else one for one in reply]
        made.take(reply)

    view = memoryview(bytearray(frame))
    made.parked = broker.dispatcher.serve(connection, view, take)
    broker.scheduler.settle()
    return made


def new_connection(authorizer: Authorizer, lazy_records_from: int = 1 << 62) -> ConnectionInfo:
    return ConnectionInfo(
        ANONYMOUS, authorizer, LISTENER, "10.0.0.7", 4711, "10.0.0.1", 9092, lazy_records_from
    )


def _state(broker: Broker) -> dict[str, Any]:
    metrics = broker.metrics
    return {
        "logs": {(one.topic, one.index): _log(one) for one in broker.partitions},
        "topics": {
            name: {field: getattr(topic, field) for field in topic.__slots__}
            for name, topic in metrics.topics.items()
        },
        "apis": {api: (one.count, one.time_counts) for api, one in metrics.apis.items()},
        "errors": metrics.errors,
        "expired": (metrics.expired_fetches, metrics.expired_produces),
        "wrong": (metrics.malformed, metrics.wrong_checksums, metrics.keyless_records),
        "sessions": len(broker.sessions),
    }


def _log(partition: Any) -> tuple[object, ...]:
    log = partition.log
    files = sorted(Path(log.directory).glob("*.log"))
    return (
        log.log_start_offset,
        log.log_end_offset,
        partition.high_watermark,
        len(partition.data_waiters),
        [(file.name, file.read_bytes()) for file in files],
    )


def count_served(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """From now on counts requests that are served the known way, and those that are declined."""
    counted: Counter[str] = Counter()
    for cls in (KnownProduce, KnownFetch, KnownOffsetCommit):
        _count_calls(monkeypatch, cls, counted)
    return counted


def _count_calls(
    monkeypatch: pytest.MonkeyPatch, cls: type[KnownRequest], counted: Counter[str]
) -> None:
    check: Callable[[Any, memoryview], Any] = cls.check
    name = cls.__name__.removeprefix("Known").lower()

    def counting(self: KnownRequest, frame: memoryview) -> Any:
        try:
            checked = check(self, frame)
        except Exception:
            counted[f"{name} declined"] += 1
            raise
        if checked is NOT_NOW:
            counted[f"{name} not now"] += 1
        else:
            counted[f"{name} declined" if checked is None else name] += 1
        return checked

    monkeypatch.setattr(cls, "check", counting)
