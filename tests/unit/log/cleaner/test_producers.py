"""What idempotent producers need survives compaction: the last sequence of each live one."""

from pathlib import Path

import pytest

from headrace.base.errors import ErrorCode, KafkaError
from headrace.log.partition_log import PartitionLog
from tests.unit.log.cleaner.samples import (
    compact,
    compacted_log,
    contents,
    headers_of,
    put,
    roll,
)
from tests.unit.log.samples import NOW, end_transaction, reload


def send(log: PartitionLog, producer_id: int, sequence: int, key: bytes, value: bytes) -> int:
    return put(log, (key, value), producer_id=producer_id, producer_epoch=3, base_sequence=sequence)


def test_the_last_batch_of_a_live_producer_stays_without_its_records(tmp_path: Path) -> None:
    log = compacted_log(tmp_path)
    send(log, 5, 0, b"a", b"1")
    send(log, 5, 1, b"a", b"2")
    put(log, (b"a", b"3"))
    roll(log)
    compact(log)
    emptied, last = headers_of(log)
    assert (emptied.base_offset, emptied.record_count, emptied.size) == (1, 0, 61)
    assert (emptied.producer_id, emptied.producer_epoch, emptied.last_sequence) == (5, 3, 1)
    assert last.base_offset == 2
    assert contents(log) == [(2, b"a", b"3")]


def test_a_producer_goes_on_after_compaction_and_a_hard_kill(tmp_path: Path) -> None:
    log = compacted_log(tmp_path)
    for sequence in range(4):
        send(log, 5, sequence, b"a", b"%d" % sequence)
    put(log, (b"a", b"last"))
    roll(log)
    compact(log)
    for name in Path(log.directory).glob("*.snapshot"):
        name.unlink()
    again = reload(log, clean=False, recovery_point=0)
    entry = again.producers.get(5)
    assert entry is not None
    assert (entry.last_sequence, entry.epoch) == (3, 3)
    with pytest.raises(KafkaError) as caught:
        send(again, 5, 9, b"a", b"gap")
    assert caught.value.code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert send(again, 5, 4, b"a", b"4") == 5


def test_a_thinned_batch_keeps_the_sequences_of_the_records_it_lost(tmp_path: Path) -> None:
    log = compacted_log(tmp_path)
    put(
        log,
        (b"a", b"1"),
        (b"b", b"1"),
        (b"c", b"1"),
        producer_id=5,
        producer_epoch=0,
        base_sequence=10,
    )
    put(log, (b"a", b"2"), (b"c", b"2"))
    roll(log)
    compact(log)
    header = headers_of(log)[0]
    assert (header.base_sequence, header.last_sequence, header.record_count) == (10, 12, 1)


def test_the_batch_of_a_forgotten_producer_goes(tmp_path: Path) -> None:
    log = compacted_log(tmp_path)
    send(log, 5, 0, b"a", b"1")
    put(log, (b"a", b"2"))
    roll(log)
    log.expire_producers(NOW + 86_400_000)
    compact(log)
    assert [header.base_offset for header in headers_of(log)] == [1]


def test_an_emptied_batch_goes_once_its_producer_is_forgotten(tmp_path: Path) -> None:
    log = compacted_log(tmp_path)
    send(log, 5, 0, b"a", b"1")
    put(log, (b"a", b"2"))
    roll(log)
    compact(log)
    assert len(headers_of(log)) == 2
    log.expire_producers(NOW + 86_400_000)
    compact(log)
    assert [header.base_offset for header in headers_of(log)] == [1]


def test_a_marker_that_alone_knows_the_epoch_stays_emptied(tmp_path: Path) -> None:
    log = compacted_log(tmp_path, delete_retention_ms=0)
    put(
        log,
        (b"a", b"1"),
        producer_id=5,
        producer_epoch=0,
        base_sequence=0,
        transactional=True,
    )
    end_transaction(log, 5, 1, commit=False)  # a newer epoch: the data batch no longer counts
    put(log, (b"z", b"1"))
    roll(log)
    for now_ms in (NOW, NOW + 1, NOW + 2, NOW + 3):
        compact(log, now_ms=now_ms)
    marker, last = headers_of(log)
    assert (marker.base_offset, marker.is_control, marker.record_count) == (1, True, 0)
    assert (marker.producer_id, marker.producer_epoch) == (5, 1)
    assert last.base_offset == 2
