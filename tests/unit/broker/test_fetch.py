"""Fetch: which bytes, how many, and when."""

from pathlib import Path

import pytest

from headrace.base.errors import ErrorCode, KafkaError
from headrace.log.append import AppendOrigin
from headrace.log.partition_log import PartitionLog
from headrace.metadata.records import RemoveTopicRecord
from headrace.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from headrace.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from headrace.records.batch import read_header
from headrace.replication.partition import (
    READ_COMMITTED,
    READ_UNCOMMITTED,
    Leadership,
    Partition,
)
from tests.unit.broker.batches import (
    batch,
    fetch,
    fill,
    offsets,
    partitions_of,
    send_fetch,
    values,
)
from tests.unit.broker.fakes import DenyAll
from tests.unit.broker.harness import Broker
from tests.unit.log.samples import marker


def append(broker: Broker, data: bytearray, *, origin: AppendOrigin = AppendOrigin.CLIENT) -> None:
    """Append past the handler: what transactions leave in a log."""
    partition = broker.partition("t")
    partition.append(memoryview(data), read_header(data), broker.clock.wall_ms(), origin)
    broker.scheduler.settle()


def transactional(producer_id: int, sequence: int, count: int = 1) -> bytearray:
    return batch(
        count,
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=sequence,
        transactional=True,
    )


def end_transaction(broker: Broker, producer_id: int, *, commit: bool) -> None:
    append(broker, marker(producer_id, 0, commit=commit), origin=AppendOrigin.COORDINATOR)


# Which bytes


@pytest.mark.parametrize("version", range(4, 18))
def test_every_version_serves_the_same_bytes(broker: Broker, version: int) -> None:
    topic_id = broker.create_topic("t")
    fill(broker, 2, 1)
    topic = topic_id if version >= 13 else "t"
    response = send_fetch(broker, (topic, 0, 0), version=version).response
    ((found, data),) = partitions_of(response).items()
    assert found == (topic, 0)
    assert values(data) == [b"0 value", b"1 value", b"0 value"]
    assert (data.error_code, data.high_watermark, data.last_stable_offset) == (0, 3, 3)


def test_an_offset_in_the_middle_of_a_batch_gets_the_whole_batch(broker: Broker) -> None:
    broker.create_topic("t")
    fill(broker, 10, 10, 10)
    for offset, first in ((0, 0), (1, 0), (9, 0), (10, 10), (15, 10), (29, 20)):
        assert offsets(fetch(broker, offset))[0] == first


def test_at_the_end_there_is_nothing_and_no_error(broker: Broker) -> None:
    broker.create_topic("t")
    fill(broker, 5)
    data = fetch(broker, 5)
    assert (data.error_code, data.records, data.high_watermark) == (ErrorCode.NONE, b"", 5)


@pytest.mark.parametrize("offset", [6, 2**62, -1, -2])
def test_an_offset_outside_the_log_is_out_of_range(broker: Broker, offset: int) -> None:
    broker.create_topic("t")
    fill(broker, 5)
    data = fetch(broker, offset)
    assert data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert (data.records, data.high_watermark) == (b"", -1)


def test_an_offset_before_the_log_start_is_out_of_range(broker: Broker) -> None:
    broker.create_topic("t")
    fill(broker, 5, 5)
    partition = DeleteRecordsPartition(partition_index=0, offset=7)
    topic = DeleteRecordsTopic(name="t", partitions=[partition])
    broker.ask(DeleteRecordsRequest(topics=[topic]))
    assert fetch(broker, 6).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    data = fetch(broker, 7)
    assert (data.log_start_offset, offsets(data)) == (7, [5])


def test_nothing_beyond_the_high_watermark_is_served(broker: Broker) -> None:
    broker.create_topic("t")
    fill(broker, 3)
    broker.partition("t").lead_or_follow(Leadership(1, 1, (1, 2), (1, 2), 1))
    fill(broker, 3)
    data = fetch(broker, 0)
    assert (data.high_watermark, offsets(data)) == (3, [0])
    ahead = fetch(broker, 5)
    assert (ahead.error_code, ahead.records) == (ErrorCode.NONE, b"")


# How many


def sizes(broker: Broker, *counts: int, topic: str = "t", index: int = 0) -> list[int]:
    """Fill, and say how large the batches are."""
    fill(broker, *counts, topic=topic, index=index)
    return [len(batch(count)) for count in counts]


def test_no_more_than_the_partitions_limit_is_served(broker: Broker) -> None:
    broker.create_topic("t")
    one, two, _ = sizes(broker, 5, 5, 5)
    assert offsets(fetch(broker, partition_bytes=one + two)) == [0, 5]
    assert offsets(fetch(broker, partition_bytes=one + two - 1)) == [0]


@pytest.mark.parametrize("limit", [0, 1, -1, -(2**31)])
def test_at_least_one_batch_is_served_however_small_the_limits(broker: Broker, limit: int) -> None:
    broker.create_topic("t")
    fill(broker, 5, 5)
    assert offsets(fetch(broker, partition_bytes=limit)) == [0]
    assert offsets(fetch(broker, 5, max_bytes=limit)) == [5]


def test_only_the_first_partition_with_data_may_exceed_the_limits(broker: Broker) -> None:
    broker.create_topic("t", 3)
    for index in (1, 2):
        fill(broker, 5, index=index)
    response = send_fetch(broker, ("t", 0, 0), ("t", 1, 0), ("t", 2, 0), max_bytes=1).response
    served = {key: offsets(data) for key, data in partitions_of(response).items()}
    assert served == {("t", 0): [], ("t", 1): [0], ("t", 2): []}


def test_max_bytes_counts_over_all_partitions(broker: Broker) -> None:
    broker.create_topic("t", 3)
    for index in range(3):
        fill(broker, 5, 5, index=index)
    size = len(batch(5))
    positions = [("t", index, 0) for index in range(3)]
    response = send_fetch(broker, *positions, max_bytes=3 * size).response
    served = [len(offsets(data)) for data in partitions_of(response).values()]
    assert served == [2, 1, 0]


def test_the_brokers_own_limit_counts_too(tmp_path: Path) -> None:
    broker = Broker(tmp_path, overrides={"fetch.max.bytes": "1024"})
    broker.create_topic("t")
    for _ in range(20):
        fill(broker, 5)
    assert len(fetch(broker).records or b"") <= 1024
    broker.close()


# Transactions


def test_readers_of_committed_data_stop_before_an_open_transaction(broker: Broker) -> None:
    broker.create_topic("t")
    fill(broker, 2)
    append(broker, transactional(7, 0, 3))
    fill(broker, 2)
    committed = fetch(broker, 0, isolation_level=READ_COMMITTED)
    assert (committed.last_stable_offset, committed.high_watermark) == (2, 7)
    assert offsets(committed) == [0]
    assert committed.aborted_transactions == []
    uncommitted = fetch(broker, 0)
    assert offsets(uncommitted) == [0, 2, 5]
    assert uncommitted.aborted_transactions is None


def test_aborted_transactions_are_named_to_readers_of_committed_data(broker: Broker) -> None:
    broker.create_topic("t")
    append(broker, transactional(7, 0, 3))
    append(broker, transactional(8, 0, 2))
    end_transaction(broker, 7, commit=False)
    end_transaction(broker, 8, commit=True)
    fill(broker, 1)
    data = fetch(broker, 0, isolation_level=READ_COMMITTED)
    assert data.last_stable_offset == data.high_watermark == 8
    assert data.aborted_transactions is not None
    aborted = [(one.producer_id, one.first_offset) for one in data.aborted_transactions]
    assert aborted == [(7, 0)]
    after = fetch(broker, 7, isolation_level=READ_COMMITTED)
    assert after.aborted_transactions == []


def test_aborted_transactions_behind_what_is_served_are_not_named(broker: Broker) -> None:
    """A reader far behind would be told of all there are, in each answer."""
    broker.create_topic("t")
    for producer_id in (7, 8, 9):
        append(broker, transactional(producer_id, 0, 2))
        end_transaction(broker, producer_id, commit=False)
    size = len(transactional(7, 0, 2)) + len(marker(7, 0, commit=False))
    for offset, limit, served, named in (
        (0, 1, [0], [7]),
        (0, size, [0, 2], [7]),
        (2, 1, [2], [7]),
        (3, 1, [3], [8]),
        (3, 2 * size, [3, 5, 6, 8], [8, 9]),
        (0, 1 << 20, [0, 2, 3, 5, 6, 8], [7, 8, 9]),
    ):
        data = fetch(broker, offset, isolation_level=READ_COMMITTED, partition_bytes=limit)
        assert offsets(data) == served
        assert [one.producer_id for one in data.aborted_transactions or ()] == named


def test_a_transaction_that_ends_behind_what_is_served_is_named(broker: Broker) -> None:
    broker.create_topic("t")
    append(broker, transactional(7, 0, 2))
    fill(broker, 1, 1)
    end_transaction(broker, 7, commit=False)
    for offset, served in ((0, [0]), (2, [2])):
        data = fetch(broker, offset, isolation_level=READ_COMMITTED, partition_bytes=1)
        assert offsets(data) == served
        assert [one.producer_id for one in data.aborted_transactions or ()] == [7]


def test_a_committed_reader_is_not_woken_in_vain_by_an_open_transaction(broker: Broker) -> None:
    broker.create_topic("t")
    waiting = send_fetch(broker, ("t", 0, 0), max_wait_ms=500, isolation_level=READ_COMMITTED)
    append(broker, transactional(7, 0))
    append(broker, transactional(7, 1))
    assert not waiting.is_answered
    end_transaction(broker, 7, commit=True)
    assert offsets(partitions_of(waiting.response)["t", 0]) == [0, 1, 2]


def test_the_end_of_a_transaction_sets_all_its_bytes_free_for_a_reader_that_waits_for_many(
    broker: Broker,
) -> None:
    broker.create_topic("t")
    first, second = transactional(7, 0, 3), transactional(7, 3, 3)
    wanted = len(first) + len(second)
    waiting = send_fetch(
        broker, ("t", 0, 0), max_wait_ms=500, min_bytes=wanted, isolation_level=READ_COMMITTED
    )
    append(broker, first)
    append(broker, second)
    assert not waiting.is_answered
    end_transaction(broker, 7, commit=True)
    assert offsets(partitions_of(waiting.response)["t", 0]) == [0, 3, 6]


# Leaders and epochs


def fetch_with_epoch(broker: Broker, epoch: int) -> int:
    partition = FetchPartition(partition=0, current_leader_epoch=epoch, partition_max_bytes=1000)
    request = FetchRequest(topics=[FetchTopic(topic="t", partitions=[partition])])
    (data,) = partitions_of(broker.ask(request, 12)).values()
    return data.error_code


def test_clients_with_another_idea_of_the_leader_epoch_are_told(broker: Broker) -> None:
    broker.create_topic("t")
    broker.partition("t").lead_or_follow(Leadership(1, 5, (1,), (1,), 1))
    assert fetch_with_epoch(broker, 5) == ErrorCode.NONE
    assert fetch_with_epoch(broker, -1) == ErrorCode.NONE
    assert fetch_with_epoch(broker, 4) == ErrorCode.FENCED_LEADER_EPOCH
    assert fetch_with_epoch(broker, 6) == ErrorCode.UNKNOWN_LEADER_EPOCH


def test_a_partition_led_elsewhere_names_its_leader(broker: Broker) -> None:
    broker.create_topic("t")
    broker.partition("t").lead_or_follow(Leadership(2, 3, (1, 2), (1, 2), 1))
    data = fetch(broker)
    assert data.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (data.current_leader.leader_id, data.current_leader.leader_epoch) == (2, 3)


def test_a_reader_of_a_log_that_was_cut_learns_where_it_diverged(broker: Broker) -> None:
    broker.create_topic("t")
    fill(broker, 5)
    partition = FetchPartition(
        partition=0, fetch_offset=9, last_fetched_epoch=0, partition_max_bytes=1000
    )
    request = FetchRequest(
        max_wait_ms=500, min_bytes=1, topics=[FetchTopic(topic="t", partitions=[partition])]
    )
    (data,) = partitions_of(broker.ask(request, 12)).values()
    assert data.error_code == ErrorCode.NONE
    assert (data.diverging_epoch.epoch, data.diverging_epoch.end_offset) == (0, 5)


def test_a_reader_from_an_epoch_that_never_was_is_out_of_range(broker: Broker) -> None:
    """Told nothing, it would ask the same again for ever."""
    broker.create_topic("t")
    fill(broker, 5)
    partition = FetchPartition(
        partition=0, fetch_offset=2, last_fetched_epoch=9, partition_max_bytes=1000
    )
    request = FetchRequest(
        max_wait_ms=500, min_bytes=1, topics=[FetchTopic(topic="t", partitions=[partition])]
    )
    (data,) = partitions_of(broker.ask(request, 12)).values()
    assert data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_nobody_poses_as_a_follower(broker: Broker) -> None:
    broker.create_topic("t")
    fill(broker, 1)
    assert fetch(broker, 0, replica_id=3).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


# Topic ids


def test_an_unknown_topic_id_is_said_to_be_unknown(broker: Broker) -> None:
    topic_id = broker.create_topic("t")
    response = send_fetch(broker, (b"\x07" * 16, 0, 0), (topic_id, 9, 0), version=17).response
    codes = {key: data.error_code for key, data in partitions_of(response).items()}
    assert codes == {
        (b"\x07" * 16, 0): ErrorCode.UNKNOWN_TOPIC_ID,
        (topic_id, 9): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }


def test_a_topic_made_again_under_its_name_is_another_one(broker: Broker) -> None:
    old = broker.create_topic("t")
    fill(broker, 3)
    broker.plane.apply([RemoveTopicRecord(topic_id=old)])
    new = broker.create_topic("t")
    response = send_fetch(broker, (old, 0, 0), (new, 0, 0), version=17).response
    found = partitions_of(response)
    assert found[old, 0].error_code == ErrorCode.UNKNOWN_TOPIC_ID
    assert (found[new, 0].error_code, found[new, 0].high_watermark) == (ErrorCode.NONE, 0)


def test_a_fetch_that_waits_on_a_topic_that_is_deleted_hears_of_it_in_the_end(
    broker: Broker,
) -> None:
    topic_id = broker.create_topic("t")
    waiting = send_fetch(broker, (topic_id, 0, 0), max_wait_ms=100, version=17)
    broker.plane.apply([RemoveTopicRecord(topic_id=topic_id)])
    broker.advance(100)
    (data,) = partitions_of(waiting.response).values()
    assert data.error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_a_partition_on_a_failed_disk_is_a_storage_error(broker: Broker) -> None:
    topic_id = broker.create_topic("t")
    broker.partitions.mark_offline("t", 0)
    assert fetch(broker).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    response = send_fetch(broker, (topic_id, 0, 0), version=17).response
    (data,) = partitions_of(response).values()
    assert data.error_code == ErrorCode.KAFKA_STORAGE_ERROR


@pytest.mark.parametrize("isolation_level", [READ_UNCOMMITTED, READ_COMMITTED])
def test_a_log_that_cannot_be_made_is_the_error_of_its_partition_alone(
    broker: Broker, isolation_level: int
) -> None:
    topic_id = broker.create_topic("full")
    broker.create_topic("t")
    fill(broker, 3)

    def refuse(_: Partition) -> PartitionLog:
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "The disk is full.")

    partition = Partition("full", 0, topic_id, refuse, broker.partition("t").leadership.leader)
    partition.lead_or_follow(broker.partition("full").leadership)
    broker.partitions.add(partition)
    waiting = send_fetch(
        broker, ("full", 0, 0), ("t", 0, 0), max_wait_ms=500, isolation_level=isolation_level
    )
    found = partitions_of(waiting.response)
    assert found["full", 0].error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert offsets(found["t", 0]) == [0]


# Access and counting


def test_whoever_may_not_read_does_not_learn_what_exists(tmp_path: Path) -> None:
    broker = Broker(tmp_path, authorizer=DenyAll())
    topic_id = broker.create_topic("t")
    for topic in ("t", "nowhere"):
        assert fetch(broker, topic=topic).error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    data = fetch(broker, topic=topic_id, version=17)
    assert data.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    broker.close()


def test_what_goes_out_is_counted(broker: Broker) -> None:
    broker.create_topic("t")
    fill(broker, 5)
    data = fetch(broker)
    assert broker.metrics.topic("t").bytes_out == len(data.records or b"")
