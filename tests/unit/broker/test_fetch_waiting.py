"""Fetch: when a request is answered, and what a wait leaves behind."""

import pytest

from headrace.base.errors import ErrorCode
from headrace.log.append import AppendOrigin
from headrace.records.batch import read_header
from tests.unit.broker.batches import (
    batch,
    fetch_request,
    fill,
    offsets,
    partitions_of,
    produce_request,
    send_fetch,
)
from tests.unit.broker.frames import request_frame
from tests.unit.broker.harness import Broker


def test_a_fetch_without_data_waits_and_is_answered_empty_when_time_is_up(broker: Broker) -> None:
    broker.create_topic("t")
    waiting = send_fetch(broker, ("t", 0, 0), max_wait_ms=500)
    broker.advance(499)
    assert not waiting.is_answered
    broker.advance(1)
    assert partitions_of(waiting.response)["t", 0].records == b""
    assert broker.metrics.expired_fetches == 1


def test_a_waiting_fetch_is_answered_as_soon_as_data_comes(broker: Broker) -> None:
    broker.create_topic("t")
    waiting = send_fetch(broker, ("t", 0, 0), max_wait_ms=500)
    fill(broker, 3)
    assert offsets(partitions_of(waiting.response)["t", 0]) == [0]
    assert broker.scheduler.pending_timers == 0
    assert broker.partition("t").data_waiters == {}
    assert broker.metrics.expired_fetches == 0


def test_a_waiting_reader_does_not_wait_for_the_producers_answer_too(broker: Broker) -> None:
    broker.create_topic("t")
    order: list[str] = []
    waiting = send_fetch(broker, ("t", 0, 0), max_wait_ms=500)
    assert waiting.parked is not None
    waiting.parked.when_done(lambda _: order.append("fetch"))
    frame = memoryview(bytearray(request_frame(produce_request(("t", 0, batch())), 12)))
    broker.dispatcher.serve(broker.connection, frame, lambda _: order.append("produce"))
    broker.scheduler.settle()
    assert order == ["fetch", "produce"]


def test_readers_that_wake_each_other_by_what_they_sent_ahead_all_get_their_answers(
    broker: Broker,
) -> None:
    length = 300  # far deeper than Python's stack, were each woken inside the one before
    broker.create_topic("t", length + 1)

    def produce_to(index: int) -> None:
        frame = request_frame(produce_request(("t", index, batch())), 12)
        broker.dispatcher.serve(broker.connection, memoryview(bytearray(frame)), lambda _: None)

    answered: list[int] = []
    for index in range(length):
        frame = request_frame(fetch_request(("t", index, 0), max_wait_ms=500), 12)

        def went_out(_: object, index: int = index) -> None:
            answered.append(index)
            produce_to(index + 1)

        broker.dispatcher.serve(broker.connection, memoryview(bytearray(frame)), went_out)
    produce_to(0)
    broker.scheduler.settle()
    assert answered == list(range(length))
    assert broker.partition("t", length).log.log_end_offset == 1


def test_min_bytes_are_counted_over_all_partitions(broker: Broker) -> None:
    broker.create_topic("t", 2)
    size = len(batch(5))
    waiting = send_fetch(broker, ("t", 0, 0), ("t", 1, 0), max_wait_ms=500, min_bytes=3 * size)
    for index in (0, 1):
        fill(broker, 5, index=index)
        assert not waiting.is_answered
    fill(broker, 5, index=0)
    served = {key: offsets(data) for key, data in partitions_of(waiting.response).items()}
    assert served == {("t", 0): [0, 5], ("t", 1): [0]}


def test_what_is_there_already_counts_for_min_bytes(broker: Broker) -> None:
    broker.create_topic("t")
    fill(broker, 5)
    waiting = send_fetch(broker, ("t", 0, 0), max_wait_ms=500, min_bytes=len(batch(5)) + 1)
    assert not waiting.is_answered
    fill(broker, 1)
    assert offsets(partitions_of(waiting.response)["t", 0]) == [0, 5]


def test_whoever_wants_more_than_it_takes_does_not_wait_for_it(broker: Broker) -> None:
    broker.create_topic("t")
    fill(broker, 5, 5)
    full = send_fetch(
        broker, ("t", 0, 0), max_wait_ms=500, min_bytes=1 << 30, max_bytes=len(batch(5))
    )
    assert offsets(partitions_of(full.response)["t", 0]) == [0]


@pytest.mark.parametrize("min_bytes", [0, -5])
def test_min_bytes_of_nothing_does_not_wait(broker: Broker, min_bytes: int) -> None:
    broker.create_topic("t")
    assert send_fetch(broker, ("t", 0, 0), max_wait_ms=500, min_bytes=min_bytes).is_answered


@pytest.mark.parametrize("max_wait_ms", [0, -1])
def test_no_time_to_wait_is_answered_at_once(broker: Broker, max_wait_ms: int) -> None:
    broker.create_topic("t")
    assert send_fetch(broker, ("t", 0, 0), max_wait_ms=max_wait_ms).is_answered


def test_an_error_in_one_partition_is_told_at_once(broker: Broker) -> None:
    broker.create_topic("t")
    for bad in (("t", 0, 99), ("t", 7, 0), ("nowhere", 0, 0)):
        response = send_fetch(broker, ("t", 0, 0), bad, max_wait_ms=500).response
        assert [data.error_code for data in partitions_of(response).values()][-1] != 0


def test_a_fetch_for_nothing_is_answered_at_once(broker: Broker) -> None:
    response = broker.ask(fetch_request(max_wait_ms=500), 12)
    assert (response.error_code, response.responses) == (ErrorCode.NONE, [])


def test_a_client_that_leaves_while_it_waits_leaves_nothing_behind(broker: Broker) -> None:
    broker.create_topic("t", 2)
    waiting = send_fetch(broker, ("t", 0, 0), ("t", 1, 0), max_wait_ms=500)
    assert waiting.parked is not None
    waiting.parked.abandon()
    for index in (0, 1):
        assert broker.partition("t", index).data_waiters == {}
        fill(broker, 1, index=index)
    broker.advance(600)
    assert not waiting.is_answered
    assert broker.scheduler.pending_timers == 0


def test_a_client_that_leaves_after_it_was_woken_is_not_answered(broker: Broker) -> None:
    broker.create_topic("t")
    waiting = send_fetch(broker, ("t", 0, 0), max_wait_ms=500)
    data = batch(1)
    broker.partition("t").append(
        memoryview(data), read_header(data), broker.clock.wall_ms(), AppendOrigin.CLIENT
    )
    assert waiting.parked is not None
    waiting.parked.abandon()
    broker.scheduler.settle()
    assert not waiting.is_answered


def test_many_waiting_fetches_are_all_answered(broker: Broker) -> None:
    broker.create_topic("t")
    waiting = [send_fetch(broker, ("t", 0, 0), max_wait_ms=500) for _ in range(50)]
    fill(broker, 1)
    assert all(one.is_answered for one in waiting)
