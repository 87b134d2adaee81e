"""Fetches that are known: when those that wait are answered, and what a wait leaves behind."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.broker.context import ConnectionInfo
from headrace.log.append import AppendOrigin
from headrace.protocol.messages.fetch import PartitionData
from headrace.records.batch import read_header
from headrace.replication.partition import READ_COMMITTED
from tests.unit.broker.batches import batch, fetch_request, offsets, partitions_of, produce_request
from tests.unit.broker.frames import request_frame
from tests.unit.broker.harness import Broker
from tests.unit.broker.twins import Pair, Twins, new_connection
from tests.unit.log.samples import marker

WAIT_MS = 500


@pytest.fixture
def twins(tmp_path: Path, served: Counter[str]) -> Iterator[Twins]:
    """Offset 0 of `t`, and a client that is known to read it."""
    with Twins(tmp_path) as made:
        made.create_topic("t")
        fill(made)
        become_known(made, served)
        yield made


def fill(twins: Twins, count: int = 1) -> None:
    twins.send(produce_request(("t", 0, batch(count))), 8)


def send(
    twins: Twins, offset: int, connection: ConnectionInfo | None = None, **options: Any
) -> Pair:
    request = fetch_request(("t", 0, offset), **{"max_wait_ms": WAIT_MS, **options})
    return twins.send(request, 12, connection=connection)


def become_known(twins: Twins, served: Counter[str], **options: Any) -> None:
    served.clear()
    for _ in range(3):
        send(twins, 0, **options)
    assert served["fetch"] > 0
    served.clear()


def data_of(pair: Pair) -> PartitionData:
    (data,) = partitions_of(pair.response).values()
    return data


def answered_after(twins: Twins, pair: Pair) -> int:
    for passed in range(2 * WAIT_MS):
        if pair.is_answered:
            return passed
        twins.advance(1)
    raise AssertionError("no answer")


def test_data_wakes_one_wait_after_the_other(twins: Twins, served: Counter[str]) -> None:
    for offset in range(1, 30):
        waiting = send(twins, offset)
        assert not waiting.is_answered
        twins.advance(offset)
        fill(twins)
        assert offsets(data_of(waiting)) == [offset]
        assert served == {"fetch": offset}
    twins.advance(2 * WAIT_MS)
    assert twins.knowing.scheduler.pending_timers == 0


@pytest.mark.parametrize("waits_before", [0, 1, 9])
@pytest.mark.parametrize("apart_ms", [2, 3, 7, 100, 499])
def test_a_wait_ends_empty_exactly_when_it_is_due(
    twins: Twins, served: Counter[str], waits_before: int, apart_ms: int
) -> None:
    for offset in range(1, waits_before + 1):
        waiting = send(twins, offset)
        twins.advance(apart_ms)
        fill(twins)
        assert offsets(data_of(waiting)) == [offset]
    for _ in range(3):
        waiting = send(twins, waits_before + 1)
        assert answered_after(twins, waiting) == WAIT_MS
        assert data_of(waiting).records == b""
    assert twins.knowing.metrics.expired_fetches == 3
    assert served["fetch"] == waits_before + 3


def test_a_wait_that_is_abandoned_leaves_nothing_and_does_not_disturb_the_next(
    twins: Twins, served: Counter[str]
) -> None:
    for _ in range(5):
        left = send(twins, 1)
        twins.advance(30)
        left.abandon()
        assert twins.knowing.partition("t").data_waiters == {}
        waiting = send(twins, 1)
        assert answered_after(twins, waiting) == WAIT_MS
        assert not left.is_answered
    waiting = send(twins, 1)
    fill(twins)
    assert offsets(data_of(waiting)) == [1]
    twins.advance(2 * WAIT_MS)
    assert twins.knowing.scheduler.pending_timers == 0
    assert served["fetch"] == 11


def test_a_client_that_leaves_after_it_was_woken_is_not_answered(twins: Twins) -> None:
    left = send(twins, 1)
    for broker in twins.brokers:
        data = batch()
        broker.partition("t").append(
            memoryview(data), read_header(data), broker.clock.wall_ms(), AppendOrigin.CLIENT
        )
    left.abandon()
    waiting = send(twins, 2)
    twins.each(lambda broker: broker.scheduler.settle())
    assert not left.is_answered
    assert not waiting.is_answered
    fill(twins)
    assert offsets(data_of(waiting)) == [2]


def test_min_bytes_larger_than_the_first_batch_wait_for_more(
    twins: Twins, served: Counter[str]
) -> None:
    size = len(batch(5))
    become_known(twins, served, min_bytes=3 * size, max_wait_ms=0)
    become_known(twins, served, min_bytes=3 * size, max_bytes=1)
    for offset in range(1, 46, 15):
        waiting = send(twins, offset, min_bytes=3 * size)
        for _ in range(3):
            assert not waiting.is_answered
            fill(twins, 5)
        assert offsets(data_of(waiting)) == [offset, offset + 5, offset + 10]


def test_what_is_there_counts_and_is_sent_when_time_is_up(
    twins: Twins, served: Counter[str]
) -> None:
    size = len(batch(1))
    for _ in range(4):
        waiting = send(twins, 0, min_bytes=size + 1)
        assert answered_after(twins, waiting) == WAIT_MS
        assert offsets(data_of(waiting)) == [0]
    waiting = send(twins, 0, min_bytes=size + 1)
    fill(twins)
    assert offsets(data_of(waiting)) == [0, 1]
    assert served["fetch"] > 2


@pytest.mark.parametrize(
    "options", [{"min_bytes": 0}, {"min_bytes": -5}, {"max_wait_ms": 0}, {"max_wait_ms": -1}]
)
def test_whoever_does_not_wait_is_answered_at_once(
    twins: Twins, served: Counter[str], options: dict[str, Any]
) -> None:
    become_known(twins, served, **options)
    for _ in range(3):
        assert data_of(send(twins, 1, **options)).records == b""
    assert served == {"fetch": 3}


@pytest.mark.parametrize(("wait_ms", "is_known"), [(5_000, True), (5_001, False)])
def test_whoever_waits_very_long_is_not_known(
    twins: Twins, served: Counter[str], wait_ms: int, is_known: bool
) -> None:
    for _ in range(4):
        send(twins, 0, max_wait_ms=wait_ms)
    assert (served["fetch"] > 0) == is_known


def test_readers_of_committed_data_wait_for_the_end_of_a_transaction(
    twins: Twins, served: Counter[str]
) -> None:
    def append(data: bytearray, origin: AppendOrigin) -> None:
        for broker in twins.brokers:
            copy = bytearray(data)
            now_ms = broker.clock.wall_ms()
            broker.partition("t").append(memoryview(copy), read_header(copy), now_ms, origin)
            broker.scheduler.settle()

    become_known(twins, served, isolation_level=READ_COMMITTED)
    for commit in (True, False, True):
        start = twins.knowing.partition("t").log.log_end_offset
        waiting = send(twins, start, isolation_level=READ_COMMITTED)
        sequence = (start - 1) // 2
        data = batch(producer_id=7, producer_epoch=0, base_sequence=sequence, transactional=True)
        append(data, AppendOrigin.CLIENT)
        assert not waiting.is_answered
        append(marker(7, 0, commit=commit), AppendOrigin.COORDINATOR)
        answer = data_of(waiting)
        assert offsets(answer) == [start, start + 1]
        assert bool(answer.aborted_transactions) == (not commit)
    assert served == {"fetch": 3}


def test_sessions_wait_and_are_told_only_news(twins: Twins, served: Counter[str]) -> None:
    session_id = send(twins, 1, session_epoch=0, max_wait_ms=0).response.session_id
    for epoch in range(1, 12):
        waiting = send(twins, epoch // 2 + 1, session_id=session_id, session_epoch=epoch)
        if epoch % 2:
            fill(twins)
            assert offsets(data_of(waiting)) == [epoch // 2 + 1]
        else:
            assert answered_after(twins, waiting) == WAIT_MS
            assert waiting.response.responses == []
    assert served == {"fetch": 9}


def test_many_clients_that_are_known_wait_at_the_same_time(
    twins: Twins, served: Counter[str]
) -> None:
    connections = [new_connection(twins.authorizer) for _ in range(20)]
    for offset in range(1, 6):
        waiting = [send(twins, offset, connection) for connection in connections]
        waiting[offset].abandon()
        fill(twins)
        assert sum(one.is_answered for one in waiting) == 19
    assert served["fetch"] == 60


def test_a_second_request_while_the_first_waits_is_answered_by_itself(
    twins: Twins, served: Counter[str]
) -> None:
    waiting = [send(twins, 1) for _ in range(5)]
    assert data_of(send(twins, 0)).records
    twins.advance(7)
    fill(twins)
    assert all(offsets(data_of(one)) == [1] for one in waiting)


def test_a_fetch_that_was_sent_ahead_is_woken_like_any_other(broker: Broker) -> None:
    """It is served as soon as the one before it is answered, so while that is being done."""
    broker.create_topic("t")
    answers: list[int] = []

    def fetch(offset: int) -> None:
        frame = request_frame(fetch_request(("t", 0, offset), max_wait_ms=WAIT_MS), 12)

        def answered(_: object) -> None:
            answers.append(offset)
            fetch(offset + 1)

        broker.dispatcher.serve(broker.connection, memoryview(bytearray(frame)), answered)

    fetch(0)
    for number in range(10):
        assert answers == list(range(number))
        broker.send(produce_request(("t", 0, batch())), 8)
