"""Fetches that are known: what may have changed since, and what a client then gets."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker.authorization import Operation
from headrace.log.partition_log import PartitionLog
from headrace.protocol.messages.fetch import FetchRequest, PartitionData
from headrace.replication.partition import Leadership, Partition
from tests.unit.broker.batches import batch, fetch_request, offsets, partitions_of, produce_request
from tests.unit.broker.twins import Pair, Twin, Twins

WAIT_MS = 500


@pytest.fixture
def twins(tmp_path: Path, served: Counter[str]) -> Iterator[Twins]:
    """Offset 0 of `t`, and a client that is known to read it."""
    with Twins(tmp_path) as made:
        made.create_topic("t")
        fill(made)
        for _ in range(3):
            assert offsets(data_of(send(made, 0))) == [0]
        assert served == {"fetch": 1}
        served.clear()
        yield made


def fill(twins: Twins) -> None:
    twins.send(produce_request(("t", 0, batch())), 11, client_id="another")


def asking(topic: str | bytes, offset: int, epoch: int, **options: Any) -> FetchRequest:
    request = fetch_request((topic, 0, offset), max_wait_ms=WAIT_MS, **options)
    request.topics[0].partitions[0].current_leader_epoch = epoch
    return request


def send(
    twins: Twins, offset: int, topic: str | bytes = "t", epoch: int = 0, **options: Any
) -> Pair:
    version = 12 if isinstance(topic, str) else 17
    return twins.send(asking(topic, offset, epoch, **options), version)


def data_of(pair: Pair) -> PartitionData:
    (data,) = partitions_of(pair.response).values()
    return data


def test_a_topic_made_again_is_read_anew(twins: Twins, served: Counter[str]) -> None:
    twins.delete_topic("t")
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert data_of(send(twins, 0)).error_code == unknown
    twins.create_topic("t")
    assert data_of(send(twins, 1)).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    waiting = send(twins, 0)
    assert not waiting.is_answered
    fill(twins)
    assert offsets(data_of(waiting)) == [0]


def test_a_topic_id_that_is_gone_is_unknown(twins: Twins) -> None:
    old = twins.knowing.partition("t").topic_id
    for _ in range(4):
        assert offsets(data_of(send(twins, 0, old))) == [0]
    twins.delete_topic("t")
    twins.create_topic("t")
    for _ in range(4):
        assert data_of(send(twins, 0, old)).error_code == ErrorCode.UNKNOWN_TOPIC_ID


def lead(twins: Twins, leader: int, epoch: int) -> None:
    leadership = Leadership(leader, epoch, (1, 2), (leader,), epoch)
    twins.each(lambda broker: broker.partition("t").lead_or_follow(leadership))


def test_a_new_leader_and_a_new_epoch_are_told(twins: Twins) -> None:
    lead(twins, 2, 1)
    data = data_of(send(twins, 0))
    assert data.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (data.current_leader.leader_id, data.current_leader.leader_epoch) == (2, 1)
    lead(twins, 1, 2)
    for _ in range(3):
        assert data_of(send(twins, 0)).error_code == ErrorCode.FENCED_LEADER_EPOCH
        assert data_of(send(twins, 0, epoch=3)).error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
        assert offsets(data_of(send(twins, 0, epoch=2))) == [0]


def test_a_partition_that_is_offline_is_a_storage_error(twins: Twins) -> None:
    twins.each(lambda broker: broker.partitions.mark_offline("t", 0))
    for _ in range(3):
        assert data_of(send(twins, 0)).error_code == ErrorCode.KAFKA_STORAGE_ERROR


def test_whoever_may_no_longer_read_hears_of_it_at_once(twins: Twins) -> None:
    twins.authorizer.refused.add((Operation.READ, "t"))
    for _ in range(3):
        assert data_of(send(twins, 0)).error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    twins.authorizer.refused.clear()
    assert offsets(data_of(send(twins, 0))) == [0]


# While a client waits


def test_whoever_may_no_longer_read_gets_nothing_that_comes_while_it_waits(
    twins: Twins, served: Counter[str]
) -> None:
    waiting = send(twins, 1)
    assert served == {"fetch": 1}
    twins.authorizer.refused.add((Operation.READ, "t"))
    fill(twins)
    assert data_of(waiting).error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert not data_of(waiting).records


def test_a_new_epoch_while_a_client_waits_is_told_with_the_next_record(
    twins: Twins, served: Counter[str]
) -> None:
    waiting = send(twins, 1)
    assert served == {"fetch": 1}
    lead(twins, 1, 1)
    fill(twins)
    assert data_of(waiting).error_code == ErrorCode.FENCED_LEADER_EPOCH


@pytest.mark.parametrize("is_made_again", [False, True])
def test_a_topic_that_goes_while_a_client_waits_is_told_when_time_is_up(
    twins: Twins, served: Counter[str], is_made_again: bool
) -> None:
    waiting = send(twins, 1)
    assert served == {"fetch": 1}
    twins.delete_topic("t")
    if is_made_again:
        twins.create_topic("t")
        fill(twins)
    twins.advance(WAIT_MS - 1)
    assert not waiting.is_answered
    twins.advance(1)
    code = ErrorCode.NONE if is_made_again else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert data_of(waiting).error_code == code


def test_leadership_that_goes_while_a_client_waits_is_told_when_time_is_up(twins: Twins) -> None:
    waiting = send(twins, 1)
    lead(twins, 2, 1)
    twins.advance(WAIT_MS)
    assert data_of(waiting).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_session_that_ends_while_its_client_waits_is_still_answered(twins: Twins) -> None:
    session_id = send(twins, 0, session_epoch=0).response.session_id
    for epoch in (1, 2, 3):
        send(twins, 0, session_id=session_id, session_epoch=epoch)
    waiting = send(twins, 1, session_id=session_id, session_epoch=4)
    send(twins, 0, session_id=session_id, session_epoch=-1)
    fill(twins)
    assert waiting.response.session_id == session_id
    response = send(twins, 1, session_id=session_id, session_epoch=5).response
    assert response.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


# Logs that come later


@pytest.mark.parametrize("in_session", [False, True])
def test_a_log_that_cannot_be_made_is_a_storage_error_each_time(
    twins: Twins, in_session: bool
) -> None:
    topic_id = twins.create_topic("full")

    def refuse(_: Partition) -> PartitionLog:
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "The disk is full.")

    def replace(broker: Twin) -> None:
        partition = Partition("full", 0, topic_id, refuse, 1)
        partition.lead_or_follow(broker.partition("full").leadership)
        broker.partitions.add(partition)

    twins.each(replace)
    session_id, epoch = 0, -1
    if in_session:
        session_id, epoch = send(twins, 0, "full", session_epoch=0).response.session_id, 1
    for number in range(5):
        current = epoch + number * in_session
        pair = send(twins, 0, "full", session_id=session_id, session_epoch=current)
        assert data_of(pair).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    twins.each(lambda broker: broker.partitions.remove("full", 0))
