"""One partition's rules: who leads, what is replicated, what may be read."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.base.errors import ErrorCode, KafkaError
from headrace.log.append import AppendOrigin, AppendResult
from headrace.records.batch import read_header
from headrace.replication.partition import READ_COMMITTED, READ_UNCOMMITTED, Leadership, Partition
from tests.unit.log.samples import NOW, TOPIC_ID, batch, new_log

NODE = 1


def leading(*isr: int, epoch: int = 0, leader: int = NODE) -> Leadership:
    return Leadership(leader, epoch, (1, 2, 3), isr or (NODE,), epoch)


@pytest.fixture
def partition(tmp_path: Path) -> Iterator[Partition]:
    log = new_log(tmp_path)
    made = Partition("t", 0, TOPIC_ID, log, NODE)
    made.lead_or_follow(leading())
    yield made
    log.close(clean=False)


def append(partition: Partition, count: int = 1, **options: object) -> AppendResult:
    data = batch(count, **options)  # type: ignore[arg-type]
    return partition.append(memoryview(data), read_header(data), NOW, AppendOrigin.CLIENT)


def code_of(partition: Partition, epoch: int) -> ErrorCode:
    try:
        partition.require_leader(epoch)
    except KafkaError as error:
        return error.code
    return ErrorCode.NONE


def test_a_new_partition_has_no_leader_yet(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    fresh = Partition("t", 0, TOPIC_ID, log, NODE)
    assert not fresh.is_leader
    assert code_of(fresh, -1) == ErrorCode.NOT_LEADER_OR_FOLLOWER
    log.close(clean=False)


def test_leader_epochs_fence_both_ways(partition: Partition) -> None:
    partition.lead_or_follow(leading(epoch=5))
    assert [code_of(partition, epoch) for epoch in (-1, 4, 5, 6)] == [
        ErrorCode.NONE,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
    ]
    partition.lead_or_follow(leading(epoch=6, leader=2))
    assert code_of(partition, 6) == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_alone_the_high_watermark_follows_the_log(partition: Partition) -> None:
    append(partition, 3)
    assert partition.high_watermark == 3
    assert partition.last_stable_offset == 3


def test_with_others_in_sync_the_high_watermark_waits_for_them(partition: Partition) -> None:
    append(partition, 3)
    partition.lead_or_follow(leading(1, 2))
    append(partition, 2)
    assert (partition.high_watermark, partition.log.log_end_offset) == (3, 5)
    partition.lead_or_follow(leading(1))
    assert partition.high_watermark == 5


def test_the_high_watermark_never_goes_back(partition: Partition) -> None:
    append(partition, 3)
    partition.lead_or_follow(leading(1, 2, epoch=1))
    assert partition.high_watermark == 3
    partition.lead_or_follow(leading(1, 2, epoch=2, leader=2))
    assert partition.high_watermark == 3


def test_waiters_are_woken_once_when_their_offset_is_replicated(partition: Partition) -> None:
    partition.lead_or_follow(leading(1, 2))
    append(partition, 4)
    woken: list[int] = []
    partition.replication_waiters.append((4, lambda: woken.append(4)))
    partition.replication_waiters.append((9, lambda: woken.append(9)))
    partition.lead_or_follow(leading(1))
    assert woken == [4]
    append(partition, 5)
    assert woken == [4, 9]
    assert partition.replication_waiters == []


def test_a_waiter_may_be_forgotten(partition: Partition) -> None:
    partition.lead_or_follow(leading(1, 2))
    append(partition)
    woken: list[int] = []

    def wake() -> None:
        woken.append(1)

    partition.replication_waiters.append((1, wake))
    partition.forget_waiter(wake)
    partition.lead_or_follow(leading(1))
    assert woken == []


def test_readers_hear_of_new_bytes_but_not_of_duplicates(partition: Partition) -> None:
    heard: list[int] = []
    partition.data_waiters[1] = heard.append
    sizes = []
    for _ in range(2):
        data = batch(1, producer_id=5, producer_epoch=0, base_sequence=0)
        sizes.append(len(data))
        partition.append(memoryview(data), read_header(data), NOW, AppendOrigin.CLIENT)
    assert heard == sizes[:1]


def test_a_reader_may_leave_while_it_is_told(partition: Partition) -> None:
    heard: list[int] = []

    def leave(size: int) -> None:
        heard.append(size)
        partition.data_waiters.clear()

    partition.data_waiters[1] = leave
    partition.data_waiters[2] = heard.append
    append(partition)
    append(partition)
    assert len(heard) == 2


@pytest.mark.parametrize(
    ("isr", "wanted", "refused"),
    [
        ((1,), 1, False),
        ((1,), 2, True),
        ((1, 2), 2, False),
        ((1, 2, 3), 9, False),
        ((1, 2), 9, True),
    ],
)
def test_acks_all_wants_so_many_in_sync_but_never_more_than_there_are(
    partition: Partition, isr: tuple[int, ...], wanted: int, refused: bool
) -> None:
    partition.lead_or_follow(leading(*isr))
    if refused:
        with pytest.raises(KafkaError) as caught:
            partition.require_enough_replicas(wanted)
        assert caught.value.code == ErrorCode.NOT_ENOUGH_REPLICAS
    else:
        partition.require_enough_replicas(wanted)


def test_readers_stop_where_their_isolation_says(partition: Partition) -> None:
    append(partition, 2)
    append(
        partition,
        3,
        producer_id=5,
        producer_epoch=0,
        base_sequence=0,
        transactional=True,
    )
    assert partition.readable_end(READ_UNCOMMITTED) == 5
    assert partition.readable_end(READ_COMMITTED) == 2


def test_offsets_outside_the_log_cannot_be_read(partition: Partition) -> None:
    append(partition, 5)
    assert partition.delete_records_before(2) == 2
    for offset in (2, 4, 5):
        partition.check_readable(offset)
    for offset in (1, 6, -1):
        with pytest.raises(KafkaError) as caught:
            partition.check_readable(offset)
        assert caught.value.code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_nothing_beyond_the_high_watermark_is_deleted(partition: Partition) -> None:
    append(partition, 3)
    partition.lead_or_follow(leading(1, 2))
    append(partition, 3)
    for offset in (4, 6, 7, -2):
        with pytest.raises(KafkaError) as caught:
            partition.delete_records_before(offset)
        assert caught.value.code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert partition.delete_records_before(-1) == 3


def test_an_epoch_is_known_from_the_moment_it_is_led_without_a_write(tmp_path: Path) -> None:
    """A client that was told of it (ListOffsets) would take an unknown one for a log cut off."""
    made = Partition("t", 0, TOPIC_ID, lambda _: new_log(tmp_path), NODE)
    made.lead_or_follow(leading(epoch=2))
    log = made.log
    assert log.leader_epochs.end_offset_for(2, 0) == (2, 0)
    append(made, 3)
    made.lead_or_follow(leading(epoch=5))
    stored = Path(log.leader_epochs.path).read_text()
    ends = {epoch: log.leader_epochs.end_offset_for(epoch, 3) for epoch in (1, 2, 4, 5, 6)}
    assert ends == {1: (1, 0), 2: (2, 3), 4: (2, 3), 5: (5, 3), 6: (-1, -1)}
    assert Path(log.leader_epochs.path).read_text() == stored == "0\n1\n2 0\n"
    made.lead_or_follow(leading(epoch=6, leader=2))
    assert log.leader_epochs.end_offset_for(6, 3) == (-1, -1)
    log.close(clean=False)
