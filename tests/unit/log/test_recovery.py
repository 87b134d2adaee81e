"""What a start after a hard kill makes of the files it finds."""

import os
from pathlib import Path
from struct import pack

import pytest

from headrace.base.errors import ErrorCode, KafkaError
from headrace.log.partition_log import PartitionLog
from headrace.log.recovery import recover_directory
from headrace.log.scan import scan_headers
from headrace.log.segment import Segment
from tests.unit.log.samples import (
    NOW,
    append,
    batch,
    end_transaction,
    everything,
    file_names,
    first_since,
    kill,
    new_log,
    produce,
    reload,
    spans,
)


def _log_path(log: PartitionLog, base_offset: int = 0) -> Path:
    return Path(log.directory) / f"{base_offset:020d}.log"


def _index_bytes(log: PartitionLog) -> dict[str, bytes]:
    """All index files by name."""
    return {
        path.name: path.read_bytes()
        for path in Path(log.directory).iterdir()
        if path.suffix in (".index", ".timeindex", ".txnindex")
    }


def test_a_tail_torn_at_any_byte_is_cut_at_the_last_whole_batch(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append(log, batch(3))
    whole = _log_path(log).stat().st_size
    append(log, batch(2, value=b"torn"))
    kill(log)
    full = _log_path(log).read_bytes()
    for cut in range(whole, len(full)):
        _log_path(log).write_bytes(full[:cut])
        recovered = reload(log, clean=False)
        assert recovered.log_end_offset == 3, cut
        assert everything(recovered) == full[:whole], cut
        assert _log_path(log).stat().st_size == whole, cut
        kill(recovered)
    _log_path(log).write_bytes(full)
    assert reload(log, clean=False).log_end_offset == 5


def test_any_flipped_byte_behind_the_recovery_point_cuts_the_log_there(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append(log, batch(3))
    whole = _log_path(log).stat().st_size
    append(log, batch(2))
    end = log.active.size
    append(log, batch(1))
    kill(log)
    full = _log_path(log).read_bytes()
    # The broker stamps base offset and leader epoch after the checksum is made.
    protected = [*range(whole + 8, whole + 12), *range(whole + 16, end)]
    for at in protected:
        damaged = bytearray(full)
        damaged[at] ^= 0xFF
        _log_path(log).write_bytes(damaged)
        recovered = reload(log, clean=False)
        assert recovered.log_end_offset == 3, at
        kill(recovered)


def test_zeros_behind_the_data_are_cut(tmp_path: Path) -> None:
    """Preallocated files, and file systems that grow a file before its data is there."""
    log = new_log(tmp_path)
    append(log, batch(3))
    kill(log)
    size = _log_path(log).stat().st_size
    os.truncate(_log_path(log), size + 100_000)
    assert reload(log, clean=False).log_end_offset == 3
    assert _log_path(log).stat().st_size == size


def test_indexes_that_kafka_preallocated_are_read_to_their_last_entry(tmp_path: Path) -> None:
    log = new_log(tmp_path, index_interval_bytes=100)
    for n in range(20):
        append(log, batch(1, timestamp=NOW + n))
    log.close()
    before = _index_bytes(log)
    for name, data in before.items():
        entry = 8 if name.endswith(".index") else 12
        os.truncate(os.path.join(log.directory, name), len(data) + 1000 * entry)
    again = reload(log, clean=True)
    assert spans(again.read(13, 1, end_offset=20)) == [(13, 13)]
    found = first_since(again, NOW + 15)
    assert found is not None
    assert found.offset == 15
    again.close()
    assert _index_bytes(log) == before


def test_segments_behind_a_bad_batch_are_deleted(tmp_path: Path) -> None:
    log = new_log(tmp_path, segment_bytes=400)
    for _ in range(12):
        append(log, batch(1, value=b"x" * 100))
    assert len(log.segments) > 3
    second = log.segments[1]
    kill(log)
    os.truncate(second.file.path, second.size - 1)
    recovered = reload(log, clean=False)
    assert len(recovered.segments) == 2
    last = spans(everything(recovered))[-1][1]
    assert recovered.log_end_offset == last + 1 < 12
    append(recovered, batch(1))
    assert spans(everything(recovered))[-1] == (last + 1, last + 1)


def test_rebuilt_indexes_equal_those_written_while_appending(tmp_path: Path) -> None:
    log = new_log(tmp_path, segment_bytes=6000, index_interval_bytes=300)
    for n in range(60):
        produce(log, 7, n, transactional=n % 10 < 5, timestamp=NOW + (n * 7) % 50)
        if n % 10 == 4:
            end_transaction(log, 7, 0, commit=n % 20 == 4)
    log.close()
    written = _index_bytes(log)
    assert sum(len(data) for data in written.values()) > 200
    for name in written:
        os.unlink(os.path.join(log.directory, name))
    kill(reload(log, clean=False, recovery_point=0))
    rebuilt = _index_bytes(log)
    assert {name: data for name, data in rebuilt.items() if data} == {
        name: data for name, data in written.items() if data
    }


@pytest.mark.parametrize(
    ("kind", "damage"),
    [
        (".index", "missing"),
        (".index", "odd size"),
        (".index", "nonsense"),
        (".timeindex", "missing"),
        (".timeindex", "odd size"),
        (".timeindex", "nonsense"),
        # A missing transaction index means that nothing was aborted.
        (".txnindex", "odd size"),
        (".txnindex", "nonsense"),
    ],
)
def test_a_damaged_index_is_rebuilt_even_after_a_clean_stop(
    tmp_path: Path, kind: str, damage: str
) -> None:
    log = new_log(tmp_path, segment_bytes=4000, index_interval_bytes=200)
    for n in range(40):
        produce(log, 7, n, transactional=True)
        if n % 4 == 3:
            end_transaction(log, 7, 0, commit=False)
    aborted = log.aborted_transactions(0, log.log_end_offset)
    before = everything(log)
    log.close()
    written = _index_bytes(log)
    name = next(name for name in sorted(written) if name.endswith(kind) and written[name])
    path = Path(log.directory) / name
    if damage == "missing":
        path.unlink()
    elif damage == "odd size":
        path.write_bytes(written[name] + b"x")
    else:
        path.write_bytes(b"\xff" * len(written[name]))
    again = reload(log, clean=True)
    assert everything(again) == before
    assert again.aborted_transactions(0, again.log_end_offset) == aborted
    again.close()
    assert _index_bytes(log)[name] == written[name]


def test_recovery_reads_only_what_lies_behind_the_recovery_point(tmp_path: Path) -> None:
    log = new_log(tmp_path, index_interval_bytes=300)
    for n in range(50):
        append(log, batch(1, timestamp=NOW + n))
    log.flush()
    for n in range(5):
        append(log, batch(1, timestamp=NOW + 50 + n))
    size, expected = log.active.size, everything(log)
    kill(log)
    report = recover_directory(
        log.directory, log.config, recovery_point=50, log_start_offset=0, now_ms=NOW
    )
    assert report.log_end_offset == 55
    assert report.truncated_bytes == 0
    assert report.scanned_bytes < size // 3
    again = reload(log, clean=True)
    assert everything(again) == expected
    found = first_since(again, NOW + 53)
    assert found is not None
    assert found.offset == 53


def test_a_recovery_that_begins_in_a_segment_leaves_the_same_indexes(tmp_path: Path) -> None:
    log = new_log(tmp_path, index_interval_bytes=300)
    for n in range(80):
        append(log, batch(1, timestamp=NOW + (n * 37) % 80))
        if n == 40:
            log.flush()
    kill(log)
    from_start = tmp_path / "copy"
    from_start.mkdir()
    for path in Path(log.directory).iterdir():
        (from_start / path.name).write_bytes(path.read_bytes())
    for directory, recovery_point in ((log.directory, 41), (str(from_start), 0)):
        recover_directory(
            directory, log.config, recovery_point=recovery_point, log_start_offset=0, now_ms=NOW
        )
    for kind in (".index", ".timeindex"):
        name = f"{0:020d}{kind}"
        assert (from_start / name).read_bytes() == (Path(log.directory) / name).read_bytes()


def test_producers_transactions_and_aborts_survive_a_kill(tmp_path: Path) -> None:
    log = new_log(tmp_path, segment_bytes=2000)
    for n in range(20):
        produce(log, 7, n)
        produce(log, 8, n, transactional=True)
        if n == 10:
            end_transaction(log, 8, 0, commit=False)
    aborted = log.aborted_transactions(0, log.log_end_offset)
    open_since = log.last_stable_offset(log.log_end_offset)
    kill(log)
    again = reload(log, clean=False)
    assert again.aborted_transactions(0, again.log_end_offset) == aborted
    assert len(aborted) == 1
    assert again.last_stable_offset(again.log_end_offset) == open_since < log.log_end_offset
    retry = produce(again, 7, 19)
    assert retry.duplicate
    assert produce(again, 7, 20).duplicate is False
    kill(again)


def test_a_recovery_that_begins_at_an_abort_notes_it_once(tmp_path: Path) -> None:
    log = new_log(tmp_path, index_interval_bytes=0)
    produce(log, 7, 0, transactional=True)
    end_transaction(log, 7, 0, commit=False)
    log.flush()
    aborted = log.aborted_transactions(0, 2)
    kill(log)
    again = reload(log, clean=False)
    assert again.recovery_point == 2
    assert again.aborted_transactions(0, 2) == aborted
    assert len(_index_bytes(log)[f"{0:020d}.txnindex"]) == 34


def test_leader_epochs_lost_with_their_file_are_read_from_the_batches(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    for epoch in (1, 1, 3, 5):
        append(log, batch(2), leader_epoch=epoch)
    entries = log.leader_epochs.entries
    kill(log)
    (Path(log.directory) / "leader-epoch-checkpoint").write_bytes(b"")
    assert reload(log, clean=False).leader_epochs.entries == entries
    (Path(log.directory) / "leader-epoch-checkpoint").unlink()
    assert reload(log, clean=True).leader_epochs.entries == entries


def test_an_epoch_that_begins_behind_the_cut_is_forgotten(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append(log, batch(2), leader_epoch=1)
    append(log, batch(2), leader_epoch=2)
    kill(log)
    os.truncate(_log_path(log), log.active.size - 1)
    assert [entry.epoch for entry in reload(log, clean=False).leader_epochs.entries] == [1]


def test_a_clean_stop_leaves_exactly_the_files_kafka_leaves(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append(log, batch(1))
    log.close()
    assert file_names(log) == [
        "00000000000000000000.index",
        "00000000000000000000.log",
        "00000000000000000000.timeindex",
        "00000000000000000001.snapshot",
        "leader-epoch-checkpoint",
        "partition.metadata",
    ]
    directory = Path(log.directory)
    assert (directory / "leader-epoch-checkpoint").read_text() == "0\n1\n0 0\n"
    assert (directory / "partition.metadata").read_text() == (
        "version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw"
    )
    again = reload(log, clean=True)
    assert (again.log_end_offset, again.recovery_point) == (1, 1)
    assert again.topic_id == log.topic_id


def test_a_clean_start_reads_no_data(tmp_path: Path) -> None:
    """Damage before the tail goes unnoticed at start: only an unclean stop is worth a scan."""
    log = new_log(tmp_path, index_interval_bytes=100)
    for _ in range(20):
        append(log, batch(1, value=b"x" * 100))
    log.close()
    with open(_log_path(log), "r+b") as file:
        file.seek(80)
        file.write(b"!")
    assert reload(log, clean=True).log_end_offset == 20


@pytest.mark.parametrize("damage", [b"rubbish behind the last batch", b"\0" * 500])
def test_a_clean_stop_with_a_damaged_end_is_recovered_all_the_same(
    tmp_path: Path, damage: bytes
) -> None:
    log = new_log(tmp_path, index_interval_bytes=300)
    for _ in range(20):
        append(log, batch(1))
    before = everything(log)
    log.close()
    with open(_log_path(log), "ab") as file:
        file.write(damage)
    again = reload(log, clean=True)
    assert again.log_end_offset == 20
    assert append(again, batch(1)).base_offset == 20
    assert everything(again).startswith(before)
    assert len(spans(everything(again))) == 21


def test_whole_batches_behind_damage_are_nobodys_to_cut_off_but_the_operators(
    tmp_path: Path,
) -> None:
    log = new_log(tmp_path)
    for _ in range(6):
        append(log, batch(1))
    data, size = everything(log), len(batch(1))
    log.close()
    path, refusals = _log_path(log), 0
    for byte in range(size):
        damaged = bytearray(data)
        damaged[2 * size + byte] ^= 0x40
        Path(path).write_bytes(damaged)
        told = ""
        try:
            again = reload(log, clean=True)
        except KafkaError as error:
            told = str(error)
        else:
            assert again.log_end_offset == 6, "nothing that a walk from header to header needs"
            again.close()
        whole = f"at byte {2 * size}, and whole batches lie behind that, from byte {3 * size} on"
        assert not told or whole in told
        refusals += bool(told)
        assert Path(path).read_bytes() == damaged
    assert refusals > 0
    os.truncate(path, 2 * size)
    assert reload(log, clean=True).log_end_offset == 2


def test_a_last_batch_that_is_damaged_is_cut_off(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    for _ in range(3):
        append(log, batch(1))
    log.close()
    with open(_log_path(log), "r+b") as file:
        file.seek(2 * len(batch(1)) + 8)
        file.write(bytes(4))
    assert reload(log, clean=True).log_end_offset == 2


def test_a_reader_is_told_of_a_hole_in_the_middle(tmp_path: Path) -> None:
    """It must not wait there for ever as if it were the end."""
    log = new_log(tmp_path, index_interval_bytes=200)
    for _ in range(30):
        append(log, batch(1))
    size = len(batch(1))
    with open(_log_path(log), "r+b") as file:
        file.seek(4 * size + 8)
        file.write(bytes(4))
    with pytest.raises(KafkaError) as caught:
        log.read(5, 1, end_offset=30)
    assert caught.value.code is ErrorCode.CORRUPT_MESSAGE
    assert spans(log.read(20, 1, end_offset=30)) == [(20, 20)]
    assert log.failure is None


def _indexed_log(directory: Path) -> tuple[PartitionLog, Path]:
    """A log of thirty batches after a clean stop, and its index, with an entry for most of them."""
    log = new_log(directory, index_interval_bytes=100)
    for _ in range(30):
        append(log, batch(1))
    log.close()
    return log, Path(log.directory) / f"{0:020d}.index"


def test_an_index_entry_that_lies_is_passed_over(tmp_path: Path) -> None:
    log, path = _indexed_log(tmp_path)
    entries = path.read_bytes()
    for slot in range(len(entries) // 8):
        for position in (3, 1 << 30, -5):
            lying = pack(">i", position)
            path.write_bytes(entries[: slot * 8 + 4] + lying + entries[slot * 8 + 8 :])
            again = reload(log, clean=True)
            for offset in range(30):
                found = spans(again.read(offset, 200, end_offset=30))
                assert found[0] == (offset, offset)
            kill(again)


def test_a_wrong_offset_in_an_index_hides_no_record(tmp_path: Path) -> None:
    log, path = _indexed_log(tmp_path)
    entries = path.read_bytes()
    for slot in range(len(entries) // 8):
        for bit in range(6):
            flipped = bytearray(entries)
            flipped[slot * 8 + 3] ^= 1 << bit
            path.write_bytes(flipped)
            again = reload(log, clean=True)
            # Backwards: nothing is remembered of the last read that could be used instead.
            for offset in reversed(range(30)):
                assert spans(again.read(offset, 1, end_offset=30)) == [(offset, offset)]
            kill(again)


def test_a_log_that_ends_before_its_start_begins_anew(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append(log, batch(5))
    log.close()
    again = reload(log, clean=True, log_start_offset=100)
    assert (again.log_start_offset, again.log_end_offset) == (100, 100)
    assert append(again, batch(1)).base_offset == 100


@pytest.mark.parametrize("clean", [True, False])
def test_an_empty_segment_that_the_one_before_it_has_grown_past_hides_nothing(
    tmp_path: Path, clean: bool
) -> None:
    log = new_log(tmp_path)
    for sequence in range(3):
        produce(log, 7, sequence)
    log.close(clean)
    _log_path(log, 1).touch()
    again = reload(log, clean=clean)
    assert again.segments.base_offsets == [0]
    assert not _log_path(log, 1).exists()
    assert produce(again, 7, 2).duplicate
    assert produce(again, 7, 3).base_offset == 3
    assert len(spans(everything(again))) == 4


def test_an_empty_segment_at_the_end_of_the_log_stays(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append(log, batch(3))
    log.roll(NOW)
    log.close()
    assert reload(log, clean=True).segments.base_offsets == [0, 3]


def test_an_empty_directory_becomes_an_empty_log(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    kill(log)
    for path in Path(log.directory).iterdir():
        path.unlink()
    again = reload(log, clean=False)
    assert again.log_end_offset == 0
    assert append(again, batch(1)).base_offset == 0


def test_a_walk_over_any_cut_file_ends(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append(log, batch(2))
    append(log, batch(2))
    whole = _log_path(log).read_bytes()
    for cut in range(len(whole)):
        path = tmp_path / "cut"
        path.write_bytes(whole[:cut])
        fd = os.open(path, os.O_RDONLY)
        try:
            count = len(list(scan_headers(fd, 0, cut)))
        finally:
            os.close(fd)
        assert count == (1 if cut >= len(whole) // 2 else 0)


# What a failed roll left, as versions did that did not clear it away


def _stray(log: PartitionLog, base_offset: int) -> None:
    Segment.create(log.files, log.directory, base_offset, NOW).close()


def _log_past_a_stray(directory: Path) -> PartitionLog:
    """Ten records flushed, an empty segment in the midst of them, and two more records."""
    log = new_log(directory, index_interval_bytes=0)
    for n in range(12):
        if n == 4:
            _stray(log, 4)
        append(log, batch(1), leader_epoch=n // 5)
        if n == 9:
            log.flush()
    kill(log)
    return log


def test_recovery_does_not_begin_in_an_empty_segment_that_the_log_has_outgrown(
    tmp_path: Path,
) -> None:
    log = _log_past_a_stray(tmp_path)
    again = reload(log, clean=False)
    assert [first for first, _ in spans(everything(again))] == list(range(12))
    assert again.segments.base_offsets == [0]
    assert again.leader_epochs.entries == log.leader_epochs.entries != []


def test_what_follows_an_outgrown_segment_is_checked(tmp_path: Path) -> None:
    log = _log_past_a_stray(tmp_path)
    data = bytearray(_log_path(log).read_bytes())
    data[-1] ^= 0xFF
    _log_path(log).write_bytes(data)
    assert reload(log, clean=False).log_end_offset == 11


def test_an_outgrown_segment_is_known_though_the_index_before_it_is_damaged(
    tmp_path: Path,
) -> None:
    log = _log_past_a_stray(tmp_path)
    (Path(log.directory) / f"{0:020d}.index").write_bytes(b"\xff" * 16)
    again = reload(log, clean=False)
    assert again.log_end_offset == 12
    assert again.segments.base_offsets == [0]
    assert again.leader_epochs.entries == log.leader_epochs.entries


@pytest.mark.parametrize("clean", [True, False])
def test_outgrown_segments_hide_nothing_wherever_they_are(tmp_path: Path, clean: bool) -> None:
    log = new_log(tmp_path)
    for n in range(12):
        if n in (2, 4, 7):
            _stray(log, n)
        append(log, batch(1))
        if n == 9:
            log.roll(NOW)
    log.close(clean=clean)
    again = reload(log, clean=clean)
    assert again.segments.base_offsets == [0, 10]
    assert [first for first, _ in spans(everything(again))] == list(range(12))


@pytest.mark.parametrize("clean", [True, False])
def test_an_empty_segment_at_the_log_end_is_kept(tmp_path: Path, clean: bool) -> None:
    log = new_log(tmp_path)
    append(log, batch(3))
    log.roll(NOW)
    log.close(clean=clean)
    assert reload(log, clean=clean).segments.base_offsets == [0, 3]
