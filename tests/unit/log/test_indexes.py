"""Offset and time index, in memory and in the file."""

import os
from pathlib import Path
from struct import pack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.log.errors import CorruptIndexError
from headrace.log.offset_index import OffsetIndex
from headrace.log.time_index import TimeIndex
from headrace.log.txn_index import AbortedTxn, TxnIndex


def test_the_bytes_are_kafkas(tmp_path: Path) -> None:
    offsets = OffsetIndex(str(tmp_path / "index"), 100)
    offsets.append(107, 4242)
    offsets.store()
    assert (tmp_path / "index").read_bytes() == pack(">ii", 7, 4242)
    times = TimeIndex(str(tmp_path / "timeindex"), 100)
    times.maybe_append(1_700_000_000_000, 107)
    times.store()
    assert (tmp_path / "timeindex").read_bytes() == pack(">qi", 1_700_000_000_000, 7)
    aborts = TxnIndex(str(tmp_path / "txnindex"), 100)
    aborts.append(AbortedTxn(1, 2, 3, 4))
    assert (tmp_path / "txnindex").read_bytes() == pack(">hqqqq", 0, 1, 2, 3, 4)


@given(
    st.integers(0, 1500), st.integers(1, 5), st.lists(st.integers(0, 8000), max_size=30), st.data()
)
@settings(max_examples=40, deadline=None)
def test_a_search_agrees_with_a_list(
    tmp_path_factory: pytest.TempPathFactory,
    count: int,
    step: int,
    targets: list[int],
    data: st.DataObject,
) -> None:
    index = OffsetIndex(str(tmp_path_factory.mktemp("index") / "index"), 0)
    stored = data.draw(st.integers(0, count))
    entries = [(n * step + 3, (n + 1) * 10) for n in range(count)]
    for n, (offset, position) in enumerate(entries):
        if n == stored:
            index.store()
        index.append(offset, position)
    for target in [*targets, 0, 2, 3, 4, count * step + 2, count * step + 3]:
        for field in (0, 1):
            below = [slot for slot, entry in enumerate(entries) if entry[field] <= target]
            slot, found = index.floor(target, field)
            assert slot == (below[-1] if below else -1)
            assert slot < 0 or found == entries[slot]
    assert index.entries() == entries
    assert index.last_position() == (entries[-1][1] if entries else 0)
    cut = data.draw(st.integers(0, count * step + 5))
    index.truncate_to(cut)
    left = [entry for entry in entries if entry[0] < cut]
    assert index.entries() == left
    slot, found = index.floor(count * step + 3, 0)  # where the last search ended may be gone
    assert slot == len(left) - 1
    assert slot < 0 or found == left[slot]


def test_a_search_that_goes_on_reads_one_block_or_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = OffsetIndex(str(tmp_path / "index"), 0)
    for n in range(20_000):
        index.append(n, n * 10)
        if n % 500 == 0:
            index.store()
    reads = []
    pread = os.pread

    def counted(fd: int, size: int, position: int) -> bytes:
        reads.append(position)
        return pread(fd, size, position)

    monkeypatch.setattr(os, "pread", counted)
    for slot in range(100, 19_000, 100):
        reads.clear()
        assert index.floor(slot, 0) == (slot, (slot, slot * 10))
        assert len(reads) <= 2


def test_a_time_that_is_no_news_makes_no_entry(tmp_path: Path) -> None:
    index = TimeIndex(str(tmp_path / "timeindex"), 0)
    for timestamp, offset in ((5, 1), (5, 2), (4, 3), (6, 4)):
        index.maybe_append(timestamp, offset)
    assert index.entries() == [(5, 1), (6, 4)]
    assert [index.lookup(timestamp) for timestamp in (4, 5, 6, 7)] == [0, 1, 4, 4]
    index.truncate_to(4)
    index.maybe_append(6, 9)
    assert index.entries() == [(5, 1), (6, 9)]


def test_entries_gather_before_they_are_written(tmp_path: Path) -> None:
    index = OffsetIndex(str(tmp_path / "index"), 0)
    while index.pending_room:
        index.append(len(index) + 1, len(index) + 1)
    assert not (tmp_path / "index").exists()
    count = len(index)
    index.store()
    assert not index.has_pending
    assert len(index) == count == index.stored
    assert len(OffsetIndex(str(tmp_path / "index"), 0)) == count


@pytest.mark.parametrize("size", [1, 7, 9])
def test_a_size_that_no_index_has_is_noticed(tmp_path: Path, size: int) -> None:
    path = tmp_path / "index"
    path.write_bytes(b"\1" * size)
    with pytest.raises(CorruptIndexError):
        OffsetIndex(str(path), 0).check(1 << 40)
    with pytest.raises(CorruptIndexError):
        TimeIndex(str(path), 0).check()
    with pytest.raises(CorruptIndexError):
        TxnIndex(str(path), 0).check()


def test_a_position_beyond_the_log_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "index"
    path.write_bytes(pack(">ii", 5, 1000))
    OffsetIndex(str(path), 0).check(1001)
    with pytest.raises(CorruptIndexError):
        OffsetIndex(str(path), 0).check(1000)
    with pytest.raises(CorruptIndexError):
        OffsetIndex(str(tmp_path / "missing"), 0).check(1000)
