"""Requests that a connection repeats: which are recognised, and that none is mistaken."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.base.errors import ErrorCode
from headrace.broker import known_requests
from headrace.broker.parked import Close
from headrace.broker.produce_appends import ProduceAppends
from headrace.protocol.messages.fetch import FetchRequest
from headrace.protocol.messages.produce import ProduceRequest
from headrace.replication.partition import READ_COMMITTED, READ_UNCOMMITTED
from tests.unit.broker.batches import batch, fetch_request, offsets, partitions_of, produce_request
from tests.unit.broker.frames import request_frame
from tests.unit.broker.harness import Broker
from tests.unit.broker.twins import FETCH, PRODUCE, Twins, new_connection

SESSIONLESS, IN_A_SESSION = "sessionless", "in a session"


@pytest.fixture
def twins(tmp_path: Path) -> Iterator[Twins]:
    with Twins(tmp_path) as made:
        yield made


def produce(topic: str, topic_id: bytes, index: int = 0, **options: Any) -> ProduceRequest:
    request = produce_request((topic, index, batch(2)), **options)
    request.topic_data[0].topic_id = topic_id
    return request


# What is recognised


@pytest.mark.parametrize("acks", [1, -1])
@pytest.mark.parametrize("version", range(9, 14))
def test_the_third_produce_of_a_kind_is_known(
    twins: Twins, served: Counter[str], version: int, acks: int
) -> None:
    topic_id = twins.create_topic("t", 2)
    for number in range(6):
        pair = twins.send(produce("t", topic_id, 1, acks=acks), version)
        (result,) = pair.response.responses[0].partition_responses
        assert (result.error_code, result.base_offset) == (ErrorCode.NONE, 2 * number)
        assert served["produce"] == max(0, number - 1)
    assert served["produce declined"] == 0


@pytest.mark.parametrize("isolation_level", [READ_UNCOMMITTED, READ_COMMITTED])
@pytest.mark.parametrize("kind", [SESSIONLESS, IN_A_SESSION])
@pytest.mark.parametrize("version", range(12, 19))
def test_the_third_fetch_of_a_kind_is_known(
    twins: Twins, served: Counter[str], version: int, kind: str, isolation_level: int
) -> None:
    topic_id = twins.create_topic("t", 2)
    topic = "t" if version < 13 else topic_id
    for _ in range(6):
        twins.send(produce("t", topic_id, 1), 12)
    session_id, first_epoch = 0, -1
    if kind == IN_A_SESSION:
        opening = fetch_request((topic, 1, 0), session_epoch=0, isolation_level=isolation_level)
        session_id, first_epoch = twins.send(opening, version).response.session_id, 1
        assert session_id > 0
    for number in range(6):
        request = fetch_request(
            (topic, 1, 2 * number),
            session_id=session_id,
            session_epoch=first_epoch + number * (kind == IN_A_SESSION),
            isolation_level=isolation_level,
        )
        response = twins.send(request, version).response
        assert response.session_id == session_id
        (data,) = partitions_of(response).values()
        assert offsets(data) == list(range(2 * number, 12, 2))
        assert served["fetch"] == max(0, number - 1)
    assert served["fetch declined"] == 0


@pytest.mark.parametrize("client_id", [None, "", "a", "ü" * 100])
def test_clients_are_known_whatever_they_call_themselves(
    twins: Twins, served: Counter[str], client_id: str | None
) -> None:
    topic_id = twins.create_topic("t")
    for number in range(4):
        twins.send(produce("t", topic_id), 12, client_id=client_id)
        twins.send(fetch_request(("t", 0, number)), 12, client_id=client_id)
    assert served == {"produce": 2, "fetch": 2}


def test_older_versions_are_served_in_the_ordinary_way(twins: Twins, served: Counter[str]) -> None:
    topic_id = twins.create_topic("t")
    for number in range(5):
        twins.send(produce("t", topic_id), 8)
        twins.send(fetch_request(("t", 0, number)), 11)
    assert served == {}


def test_a_connection_knows_nothing_of_what_another_repeats(
    twins: Twins, served: Counter[str]
) -> None:
    topic_id = twins.create_topic("t")
    for _ in range(6):
        other = new_connection(twins.authorizer)
        twins.send(produce("t", topic_id), 12, connection=other)
    assert served == {}


# What is not mistaken


def send_known(twins: Twins, served: Counter[str], request: Callable[[], Any], version: int) -> str:
    """Send until it is known; the name under which it is counted."""
    for _ in range(4):
        twins.send(request(), version)
    (name,) = served
    assert served[name] == 2
    return name


PRODUCE_CHANGES: dict[str, tuple[Any, str | None]] = {
    "acks": ({"acks": -1}, "tester"),
    "no acks": ({"acks": 0}, "tester"),
    "timeout": ({"timeout_ms": 1_001}, "tester"),
    "topic": ({"topic": "u"}, "tester"),
    "missing topic": ({"topic": "v"}, "tester"),
    "client": ({}, "teste2"),
    "shorter client": ({}, "teste"),
    "no client": ({}, None),
}


@pytest.mark.parametrize("change", PRODUCE_CHANGES)
def test_a_produce_that_differs_before_its_partitions_is_another_one(
    twins: Twins, served: Counter[str], change: str
) -> None:
    options, client_id = PRODUCE_CHANGES[change]
    for topic in ("t", "u"):
        twins.create_topic(topic, 2)
    given: dict[str, Any] = {"topic": "t", "topic_id": bytes(16), "index": 0}
    send_known(twins, served, lambda: produce(**given), 12)
    twins.send(produce(**{**given, **options}), 12, client_id=client_id)
    assert served["produce"] == 2
    twins.check()
    twins.send(produce(**given), 12)


FETCH_CHANGES: dict[str, dict[str, Any]] = {
    "partition": {"at": ("t", 1, 0)},
    "missing partition": {"at": ("t", 9, 0)},
    "topic": {"at": ("u", 0, 0)},
    "missing topic": {"at": ("v", 0, 0)},
    "wait": {"max_wait_ms": 10},
    "least": {"min_bytes": 2},
    "most": {"max_bytes": 100},
    "most of a partition": {"partition_bytes": 100},
    "isolation": {"isolation_level": READ_COMMITTED},
    "session": {"session_id": 7},
    "epoch": {"session_epoch": 3},
    "a new session": {"session_epoch": 0},
    "follower": {"replica_id": 2},
    "rack": {"rack_id": "r2"},
    "cluster": {"cluster_id": "c"},
}


@pytest.mark.parametrize("change", FETCH_CHANGES)
def test_a_fetch_that_differs_in_more_than_its_offset_is_another_one(
    twins: Twins, served: Counter[str], change: str
) -> None:
    for topic in ("t", "u"):
        topic_id = twins.create_topic(topic, 2)
        for index in (0, 1):
            for _ in range(index + 1):
                twins.send(produce(topic, topic_id, index), 12)
    served.clear()

    def request(at: tuple[str, int, int] = ("t", 0, 0), **options: Any) -> FetchRequest:
        return fetch_request(at, **options)

    send_known(twins, served, request, 12)
    twins.send(request(**FETCH_CHANGES[change]), 12)
    assert served["fetch"] == 2
    twins.check()
    twins.send(request(), 12)


def test_a_known_start_with_another_version_is_another_request(
    twins: Twins, served: Counter[str]
) -> None:
    topic_id = twins.create_topic("t")
    for version in (9, 10, 9, 10, 11, 12, 9):
        twins.send(produce("t", topic_id), version)
    assert twins.knowing.partition("t").log.log_end_offset == 14


def test_two_topics_by_turns_are_not_taken_for_each_other(
    twins: Twins, served: Counter[str]
) -> None:
    ids = {name: twins.create_topic(name) for name in ("t", "u", "longer")}
    for number in range(30):
        name = ("t", "u", "t", "longer")[number % 4]
        twins.send(produce(name, ids[name]), 12)
        twins.send(fetch_request((name, 0, number // 4)), 12)


def known_produce(broker: Broker) -> ProduceRequest:
    """A request that the broker knows after three records."""
    broker.create_topic("t")
    request = produce_request(("t", 0, batch()))
    for _ in range(3):
        broker.ask(request, 12)
    return request


def base_offset(response: Any) -> int:
    offset: int = response.responses[0].partition_responses[0].base_offset
    return offset


def test_a_bug_of_ours_while_a_request_is_checked_leaves_it_to_the_ordinary_way(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = known_produce(broker)

    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("headrace.broker.known_produce.check_batch_for", fail)
    assert [base_offset(broker.ask(request, 12)) for _ in range(3)] == [3, 4, 5]


@pytest.mark.parametrize("error", [ZeroDivisionError, IndexError, KeyError])
def test_a_bug_of_ours_behind_the_append_ends_the_connection_and_no_more(
    broker: Broker, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    """What has happened by then is not known: to do it again would be worse than no answer."""
    request = known_produce(broker)

    def fail(*_: object) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(ProduceAppends, "_count", fail)
        assert isinstance(broker.ask(request, 12), Close)
    assert base_offset(broker.ask(request, 12)) == 4  # once, not twice


# Bounds


@pytest.mark.parametrize("uses_long_names", [False, True])
def test_however_much_a_connection_asks_for_it_remembers_little(
    broker: Broker, uses_long_names: bool
) -> None:
    names = [f"{number}-" + "x" * (number if uses_long_names else 0) for number in range(100)]
    for name in names:
        broker.create_topic(name)
    known = broker.connection.known
    for number in range(10_000):
        made_up = f"{number // 2}" * (100 if uses_long_names else 1)
        name = made_up if number % 4 > 1 else names[number // 4 % 100]
        for request in (
            produce_request((name, 0, b"x")),
            produce_request((name, number // 2, b"x")),
            fetch_request((name, 0, 0)),
            fetch_request((name, number // 2, 0)),
        ):
            frame = memoryview(bytearray(request_frame(request, 12)))
            broker.dispatcher.serve(broker.connection, frame, lambda _: None)
        if number % 100 == 0:
            check_bounds(known)
    check_bounds(known)
    assert set(known) == {PRODUCE, FETCH}
    assert [one._tries for one in known.values()] == [known_requests._TRIES_MAX] * 2


def check_bounds(known: dict[int, known_requests.KnownRequests]) -> None:
    for one in known.values():
        assert len(one._known) <= known_requests._KNOWN_MAX
        assert len(one._seen) <= known_requests._KNOWN_MAX
        assert one._tries <= known_requests._TRIES_MAX


def test_many_topics_are_known_at_the_same_time(twins: Twins, served: Counter[str]) -> None:
    ids = {name: twins.create_topic(name) for name in (f"t{number:02}" for number in range(60))}
    for _ in range(4):
        for name, topic_id in ids.items():
            twins.send(produce(name, topic_id), 13)
    assert served["produce"] == 120


def test_long_requests_and_long_headers_are_never_known(twins: Twins, served: Counter[str]) -> None:
    """However few there are of them, they would take a connection's memory."""
    twins.create_topic("t")
    tagged = fetch_request(("t", 0, 0))
    tagged.unknown_tags = {99: b"x" * 20_000}
    for _ in range(4):
        twins.send(tagged, 12)
        twins.send(produce_request(("t", 0, batch())), 12, client_id="c" * 2_000)
    assert not served["fetch"]
    assert not served["produce"]
