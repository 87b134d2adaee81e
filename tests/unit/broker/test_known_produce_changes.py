"""Produces that are known: what may have changed since the last one."""

import errno
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.base.errors import ErrorCode
from headrace.broker.authorization import Operation
from headrace.log.segment import Segment
from headrace.protocol.messages.produce import ProduceRequest
from headrace.replication.partition import Leadership
from tests.unit.broker.batches import batch, end_offset, produce_request, stored
from tests.unit.broker.known_writing import VERSION, codes, known_writer, send
from tests.unit.broker.twins import Twins


@pytest.fixture
def twins(tmp_path: Path, served: Counter[str]) -> Iterator[Twins]:
    yield from known_writer(tmp_path, served)


def test_a_topic_made_again_is_not_written_to_through_the_old_one(twins: Twins) -> None:
    old = twins.knowing.partition("t")
    twins.delete_topic("t")
    for _ in range(3):
        assert codes(send(twins, batch())) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    twins.create_topic("t", 2)
    for expected in range(4):
        (result,) = send(twins, batch()).response.responses[0].partition_responses
        assert (result.error_code, result.base_offset) == (0, expected)
    assert old.log.log_end_offset == 3


def test_a_topic_id_that_is_gone_is_not_written_to(twins: Twins) -> None:
    def by_id(topic_id: bytes) -> ProduceRequest:
        request = produce_request(("t", 0, batch()))
        request.topic_data[0].topic_id = topic_id
        return request

    old = twins.knowing.partition("t").topic_id
    for _ in range(4):
        assert codes(twins.send(by_id(old), 13)) == [0]
    twins.delete_topic("t")
    new = twins.create_topic("t")
    assert codes(twins.send(by_id(old), 13)) == [ErrorCode.UNKNOWN_TOPIC_ID]
    assert end_offset(twins.knowing) == 0
    assert codes(twins.send(by_id(new), 13)) == [0]


def test_a_partition_that_is_led_elsewhere_or_offline_is_not_written_to(twins: Twins) -> None:
    def lead(leadership: Leadership) -> Callable[[Any], None]:
        return lambda broker: broker.partition("t").lead_or_follow(leadership)

    twins.each(lead(Leadership(2, 1, (1, 2), (1, 2), 1)))
    assert codes(send(twins, batch())) == [ErrorCode.NOT_LEADER_OR_FOLLOWER]
    assert codes(send(twins, batch(), batch())) == [ErrorCode.NOT_LEADER_OR_FOLLOWER, 0]
    twins.each(lead(Leadership(1, 2, (1, 2), (1,), 2)))
    assert codes(send(twins, batch())) == [0]
    assert [header.leader_epoch for header in stored(twins.knowing)] == [0, 0, 0, 2]
    twins.each(lambda broker: broker.partitions.mark_offline("t", 0))
    assert codes(send(twins, batch())) == [ErrorCode.KAFKA_STORAGE_ERROR]


def test_acks_of_all_replicas_wait_for_those_that_have_joined(twins: Twins) -> None:
    for _ in range(4):
        twins.send(produce_request(("t", 0, batch()), acks=-1), VERSION)
    both = Leadership(1, 1, (1, 2), (1, 2), 1)
    twins.each(lambda broker: broker.partition("t").lead_or_follow(both))
    waiting = twins.send(produce_request(("t", 0, batch()), acks=-1), VERSION)
    assert not waiting.is_answered
    alone = Leadership(1, 1, (1, 2), (1,), 2)
    twins.each(lambda broker: broker.partition("t").lead_or_follow(alone))
    assert codes(waiting) == [0]
    twins.configure("t", "min.insync.replicas", "2")
    request = produce_request(("t", 0, batch()), acks=-1)
    assert codes(twins.send(request, VERSION)) == [ErrorCode.NOT_ENOUGH_REPLICAS]


def test_whoever_may_no_longer_write_hears_of_it_at_once(twins: Twins) -> None:
    twins.authorizer.refused.add((Operation.WRITE, "t"))
    for _ in range(3):
        assert codes(send(twins, batch())) == [ErrorCode.TOPIC_AUTHORIZATION_FAILED]
    assert end_offset(twins.knowing) == 3
    twins.authorizer.refused.clear()
    assert codes(send(twins, batch())) == [0]


CHANGES: dict[tuple[str, str], list[int]] = {
    ("cleanup.policy", "compact"): [ErrorCode.INVALID_RECORD, 0],
    ("compression.type", "lz4"): [0, 0],
    ("headrace.produce.validation", "deep"): [0, 0],
    ("flush.messages", "1"): [0, 0],
    ("max.message.bytes", "10"): [ErrorCode.MESSAGE_TOO_LARGE] * 2,
    ("message.timestamp.type", "LogAppendTime"): [0, 0],
}


@pytest.mark.parametrize(("name", "value"), CHANGES)
def test_a_changed_setting_holds_for_the_next_batch_and_its_end_for_the_one_after(
    twins: Twins, name: str, value: str
) -> None:
    wanted = CHANGES[name, value]
    twins.configure("t", name, value)
    for _ in range(3):
        assert codes(send(twins, batch(key=None))) == wanted[:1]
        assert codes(send(twins, batch(key=None), batch())) == wanted
    twins.configure("t", name, None)
    for _ in range(3):
        assert codes(send(twins, batch(key=None))) == [0]


def test_a_flush_that_is_asked_for_meanwhile_holds_the_answer_back(twins: Twins) -> None:
    twins.configure("t", "flush.messages", "1")
    for broker in twins.brokers:
        broker.scheduler.hold = True
    waiting = send(twins, batch())
    assert not waiting.is_answered
    twins.each(lambda broker: broker.scheduler.release())
    assert codes(waiting) == [0]


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("append_time", [False, True])
@pytest.mark.parametrize("reason", [errno.ENOSPC, errno.EIO])
def test_a_disk_that_refuses_is_a_storage_error_and_no_fault_of_the_batch(
    twins: Twins, monkeypatch: pytest.MonkeyPatch, reason: int, append_time: bool, both: bool
) -> None:
    """A producer sends again after the one, and gives a record up after the other."""
    if append_time:
        twins.configure("t", "message.timestamp.type", "LogAppendTime")
    numbered = batch(producer_id=7, producer_epoch=0, base_sequence=0)
    batches = [numbered, numbered][: 1 + both]

    def refuse(*_: object) -> None:
        raise OSError(reason, "no")

    with monkeypatch.context() as patch:
        patch.setattr(Segment, "write", refuse)
        for _ in range(3):
            assert set(codes(send(twins, *batches))) == {ErrorCode.KAFKA_STORAGE_ERROR}
    if reason == errno.ENOSPC:
        assert set(codes(send(twins, *batches))) == {ErrorCode.NONE}
