"""Producer snapshots, byte for byte and with damage."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.log.errors import CorruptSnapshotError
from headrace.log.producer_entry import ProducedBatch, ProducerEntry
from headrace.log.producer_snapshot import decode_snapshot, encode_snapshot
from tests.unit.log.samples import append, batch, file_names, kill, new_log, produce, reload

_int64 = st.integers(0, (1 << 63) - 1)
_int32 = st.integers(0, (1 << 31) - 1)


def test_the_layout_is_kafkas(tmp_path: Path) -> None:
    entry = ProducerEntry(0x0102030405060708)
    entry.epoch = 9
    entry.coordinator_epoch = 3
    entry.last_timestamp = 0x11
    entry.txn_first_offset = 0x22
    entry.batches.append(ProducedBatch(5, 7, 100, 102, 0x11))
    data = encode_snapshot([entry])
    assert data[:2].hex() == "0001"
    assert data[6:10].hex() == "00000001"
    assert data[10:].hex() == (
        "0102030405060708"  # producer id
        "0009"  # epoch
        "00000007"  # last sequence
        "0000000000000066"  # last offset
        "00000002"  # offset delta
        "0000000000000011"  # timestamp
        "00000003"  # coordinator epoch
        "0000000000000022"  # first offset of the open transaction
    )


def test_an_empty_snapshot_has_ten_bytes() -> None:
    assert len(encode_snapshot([])) == 10
    assert decode_snapshot(encode_snapshot([])) == []


@given(_int64, st.integers(0, 32767), _int32, _int64, st.integers(-1, 100), st.integers(-1, 9))
def test_a_snapshot_is_read_back_as_it_was_written(
    producer_id: int, epoch: int, sequence: int, offset: int, txn: int, coordinator_epoch: int
) -> None:
    entry = ProducerEntry(producer_id)
    entry.epoch = epoch
    entry.coordinator_epoch = coordinator_epoch
    entry.txn_first_offset = txn
    entry.last_timestamp = 5
    entry.batches.append(ProducedBatch(sequence, sequence, offset, offset, 5))
    (again,) = decode_snapshot(encode_snapshot([entry]))
    for name in ProducerEntry.__slots__:
        assert getattr(again, name) == getattr(entry, name)


def test_a_producer_without_batches_is_read_back_without(tmp_path: Path) -> None:
    entry = ProducerEntry(7)
    entry.epoch = 1
    (again,) = decode_snapshot(encode_snapshot([entry]))
    assert again.last_sequence == -1
    assert not again.batches


def test_any_damage_is_noticed() -> None:
    data = encode_snapshot([ProducerEntry(7), ProducerEntry(8)])
    for at in range(len(data)):
        damaged = bytearray(data)
        damaged[at] ^= 1
        with pytest.raises(CorruptSnapshotError):
            decode_snapshot(bytes(damaged))
        with pytest.raises(CorruptSnapshotError):
            decode_snapshot(data[:at])


def test_snapshots_are_taken_at_each_segments_start(tmp_path: Path) -> None:
    log = new_log(tmp_path, segment_bytes=200)
    for n in range(6):
        produce(log, 7, n)
    starts = log.segments.base_offsets[1:]
    assert len(starts) > 1
    names = [name for name in file_names(log) if name.endswith(".snapshot")]
    assert names == [f"{start:020d}.snapshot" for start in starts]
    kill(log)


def test_a_damaged_snapshot_gives_way_to_an_older_one(tmp_path: Path) -> None:
    log = new_log(tmp_path, segment_bytes=200)
    for n in range(6):
        produce(log, 7, n)
    log.close()
    newest = [name for name in file_names(log) if name.endswith(".snapshot")][-1]
    (Path(log.directory) / newest).write_bytes(b"damaged")
    again = reload(log, clean=True)
    assert produce(again, 7, 5).duplicate
    assert not produce(again, 7, 6).duplicate


def test_snapshots_of_earlier_stops_go_at_the_next_start(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    for _ in range(3):
        append(log, batch(1))
        log.close()
        log = reload(log, clean=True)
    names = [name for name in file_names(log) if name.endswith(".snapshot")]
    assert names == [f"{3:020d}.snapshot"]
