"""ListOffsets, OffsetForLeaderEpoch, DeleteRecords and DescribeProducers."""

import pytest

from headrace.base.errors import ErrorCode
from headrace.log.append import AppendOrigin
from headrace.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from headrace.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from headrace.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from headrace.protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from headrace.records.batch import read_header
from headrace.replication.partition import Leadership
from tests.unit.broker.batches import NOW, batch, list_offset, produce
from tests.unit.broker.harness import Broker

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL = -1, -2, -3, -4
LATEST_TIERED, EARLIEST_PENDING_UPLOAD = -5, -6


@pytest.fixture
def filled(broker: Broker) -> Broker:
    """Offsets 0 to 8: three batches, a minute apart, the second the newest."""
    broker.create_topic("t")
    for start_ms in (0, 120_000, 60_000):
        assert produce(broker, batch(3, timestamp=NOW + start_ms)).error_code == 0
    return broker


@pytest.mark.parametrize("version", range(1, 12))
def test_the_first_and_the_last_offset_in_every_version(filled: Broker, version: int) -> None:
    first = list_offset(filled, EARLIEST, version=version)
    last = list_offset(filled, LATEST, version=version)
    assert (first.error_code, first.offset, first.timestamp) == (0, 0, -1)
    assert (last.error_code, last.offset, last.timestamp) == (0, 9, -1)
    assert last.leader_epoch == (0 if version >= 4 else -1)


@pytest.mark.parametrize(
    ("timestamp", "expected"),
    [
        (0, (NOW, 0)),
        (NOW, (NOW, 0)),
        (NOW + 1, (NOW + 1, 1)),
        (NOW + 3, (NOW + 120_000, 3)),
        (NOW + 120_001, (NOW + 120_001, 4)),
        (NOW + 120_003, (-1, -1)),
        (2**62, (-1, -1)),
    ],
)
def test_the_first_record_at_or_after_a_time(
    filled: Broker, timestamp: int, expected: tuple[int, int]
) -> None:
    found = list_offset(filled, timestamp)
    assert (found.error_code, found.timestamp, found.offset) == (0, *expected)


def test_the_record_with_the_largest_timestamp(filled: Broker) -> None:
    found = list_offset(filled, MAX_TIMESTAMP)
    assert (found.timestamp, found.offset) == (NOW + 120_002, 5)


def test_an_empty_log_has_offsets_but_no_times(broker: Broker) -> None:
    broker.create_topic("t")
    assert list_offset(broker, EARLIEST).offset == 0
    assert list_offset(broker, LATEST).offset == 0
    for timestamp in (0, MAX_TIMESTAMP):
        found = list_offset(broker, timestamp)
        assert (found.error_code, found.offset, found.timestamp) == (0, -1, -1)


def test_without_tiered_storage_everything_is_local_and_nothing_is_tiered(filled: Broker) -> None:
    filled.partition("t").delete_records_before(2)
    assert list_offset(filled, EARLIEST).offset == 2
    assert list_offset(filled, EARLIEST_LOCAL).offset == 2
    for timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        found = list_offset(filled, timestamp)
        assert (found.error_code, found.offset, found.leader_epoch) == (0, -1, -1)


def test_times_before_the_log_start_find_the_log_start(filled: Broker) -> None:
    filled.partition("t").delete_records_before(2)
    assert list_offset(filled, 0).offset == 2


@pytest.mark.parametrize(
    ("timestamp", "since"),
    [(MAX_TIMESTAMP, 7), (EARLIEST_LOCAL, 8), (LATEST_TIERED, 9), (EARLIEST_PENDING_UPLOAD, 11)],
)
def test_special_times_need_the_version_that_brought_them(
    filled: Broker, timestamp: int, since: int
) -> None:
    before = list_offset(filled, timestamp, version=since - 1)
    assert before.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert list_offset(filled, timestamp, version=since).error_code == ErrorCode.NONE


@pytest.mark.parametrize("timestamp", [-7, -100, -(2**63)])
def test_other_negative_times_mean_nothing_in_this_version(filled: Broker, timestamp: int) -> None:
    assert list_offset(filled, timestamp).error_code == ErrorCode.UNSUPPORTED_VERSION


def test_readers_of_committed_data_end_at_an_open_transaction(filled: Broker) -> None:
    data = batch(
        2,
        timestamp=NOW + 500_000,
        producer_id=7,
        producer_epoch=0,
        base_sequence=0,
        transactional=True,
    )
    filled.partition("t").append(memoryview(data), read_header(data), NOW, AppendOrigin.CLIENT)
    assert list_offset(filled, LATEST, isolation_level=1).offset == 9
    assert list_offset(filled, LATEST, isolation_level=0).offset == 11
    assert list_offset(filled, NOW + 500_000, isolation_level=1).offset == -1
    assert list_offset(filled, NOW + 500_000, isolation_level=0).offset == 9


def test_nothing_beyond_the_high_watermark_is_found(filled: Broker) -> None:
    filled.partition("t").lead_or_follow(Leadership(1, 1, (1, 2), (1, 2), 1))
    produce(filled, batch(1, timestamp=NOW + 600_000))
    assert list_offset(filled, LATEST).offset == 9
    assert list_offset(filled, NOW + 600_000).offset == -1


def test_what_is_unknown_is_said_to_be_unknown(filled: Broker) -> None:
    for options in ({"topic": "nowhere"}, {"index": 3}, {"index": -1}):
        found = list_offset(filled, LATEST, **options)
        assert found.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert (found.offset, found.timestamp) == (-1, -1)


def test_leader_epochs_are_checked(filled: Broker) -> None:
    filled.partition("t").lead_or_follow(Leadership(1, 5, (1,), (1,), 1))
    for epoch, code in (
        (4, ErrorCode.FENCED_LEADER_EPOCH),
        (5, ErrorCode.NONE),
        (6, ErrorCode.UNKNOWN_LEADER_EPOCH),
    ):
        assert list_offset(filled, LATEST, current_leader_epoch=epoch).error_code == code


def test_a_partition_asked_for_twice_is_an_invalid_request(filled: Broker) -> None:
    twice = [ListOffsetsPartition(partition_index=0, timestamp=time) for time in (LATEST, EARLIEST)]
    request = ListOffsetsRequest(topics=[ListOffsetsTopic(name="t", partitions=twice)])
    (topic,) = filled.ask(request).topics
    assert [one.error_code for one in topic.partitions] == [ErrorCode.INVALID_REQUEST]


def test_a_partition_asked_for_again_in_another_entry_is_one_asked_for_twice(
    filled: Broker,
) -> None:
    entry = ListOffsetsTopic(
        name="t", partitions=[ListOffsetsPartition(partition_index=0, timestamp=0)]
    )
    response = filled.ask(ListOffsetsRequest(topics=[entry, entry]))
    codes = [one.error_code for topic in response.topics for one in topic.partitions]
    assert codes == [ErrorCode.INVALID_REQUEST] * 2


# OffsetForLeaderEpoch


def end_of(broker: Broker, epoch: int, *, current: int = -1, topic: str = "t") -> EpochEndOffset:
    partition = OffsetForLeaderPartition(
        partition=0, leader_epoch=epoch, current_leader_epoch=current
    )
    request = OffsetForLeaderEpochRequest(
        replica_id=-1, topics=[OffsetForLeaderTopic(topic=topic, partitions=[partition])]
    )
    result: EpochEndOffset = broker.ask(request).topics[0].partitions[0]
    return result


def test_an_epoch_ends_where_the_next_begins(broker: Broker) -> None:
    broker.create_topic("t")
    produce(broker, batch(3))
    broker.partition("t").lead_or_follow(Leadership(1, 4, (1,), (1,), 1))
    produce(broker, batch(2))
    ends = {epoch: end_of(broker, epoch) for epoch in (0, 2, 4, 9)}
    assert {e: (end.leader_epoch, end.end_offset) for e, end in ends.items()} == {
        0: (0, 3),
        2: (0, 3),
        4: (4, 5),
        9: (-1, -1),
    }
    assert end_of(broker, 4, current=3).error_code == ErrorCode.FENCED_LEADER_EPOCH
    assert end_of(broker, 4, current=5).error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
    unknown = end_of(broker, 0, topic="nowhere")
    assert unknown.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


# DeleteRecords


def delete(broker: Broker, offset: int, *, topic: str = "t", index: int = 0) -> tuple[int, int]:
    partition = DeleteRecordsPartition(partition_index=index, offset=offset)
    request = DeleteRecordsRequest(
        topics=[DeleteRecordsTopic(name=topic, partitions=[partition])], timeout_ms=1_000
    )
    (result,) = broker.ask(request).topics[0].partitions
    return result.error_code, result.low_watermark


def test_records_are_deleted_up_to_an_offset_or_altogether(filled: Broker) -> None:
    assert delete(filled, 4) == (ErrorCode.NONE, 4)
    assert delete(filled, 2) == (ErrorCode.NONE, 4)
    assert delete(filled, -1) == (ErrorCode.NONE, 9)
    assert list_offset(filled, EARLIEST).offset == 9
    assert produce(filled, batch()).base_offset == 9


@pytest.mark.parametrize("offset", [10, 2**62, -2])
def test_records_that_are_not_there_cannot_be_deleted(filled: Broker, offset: int) -> None:
    assert delete(filled, offset) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)
    assert list_offset(filled, EARLIEST).offset == 0


def test_deleting_needs_a_partition_that_deletes(broker: Broker) -> None:
    broker.create_topic("c", cleanup_policy="compact")
    assert delete(broker, 0, topic="c") == (ErrorCode.POLICY_VIOLATION, -1)
    assert delete(broker, 0, topic="nowhere") == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)


@pytest.mark.parametrize("policy", ["compact", "delete"])
def test_records_of_internal_topics_are_not_deleted(broker: Broker, policy: str) -> None:
    broker.create_topic("__consumer_offsets", cleanup_policy=policy)
    refused = (ErrorCode.INVALID_TOPIC_EXCEPTION, -1)
    assert delete(broker, 0, topic="__consumer_offsets") == refused
    unknown = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)
    assert delete(broker, 0, topic="__transaction_state") == unknown


# DescribeProducers


def test_producers_are_described_as_the_log_knows_them(broker: Broker) -> None:
    broker.create_topic("t", 2)
    produce(broker, batch(2, producer_id=5, producer_epoch=1, base_sequence=0))
    request = DescribeProducersRequest(
        topics=[
            TopicRequest(name="t", partition_indexes=[0, 1, 0, 7]),
            TopicRequest(name="not a name", partition_indexes=[0]),
            TopicRequest(name="t", partition_indexes=[1, 0]),
        ]
    )
    known, invalid = broker.ask(request).topics
    (producer,) = known.partitions[0].active_producers
    assert (producer.producer_id, producer.producer_epoch, producer.last_sequence) == (5, 1, 1)
    assert (producer.last_timestamp, producer.current_txn_start_offset) == (NOW + 1, -1)
    assert known.partitions[1].active_producers == []
    assert known.partitions[2].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert invalid.partitions[0].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
