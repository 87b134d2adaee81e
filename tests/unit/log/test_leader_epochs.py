"""Leader epochs and their file."""

from pathlib import Path

from headrace.log.leader_epochs import LeaderEpochs
from tests.unit.log.samples import NOW, append, batch, new_log


def _epochs(directory: Path, *entries: tuple[int, int]) -> LeaderEpochs:
    epochs = LeaderEpochs(str(directory))
    for epoch, offset in entries:
        epochs.assign(epoch, offset)
    return epochs


def _listed(epochs: LeaderEpochs) -> list[tuple[int, int]]:
    return [tuple(entry) for entry in epochs.entries]  # type: ignore[misc]


def test_the_file_is_kafkas(tmp_path: Path) -> None:
    _epochs(tmp_path, (0, 0), (3, 120))
    assert (tmp_path / "leader-epoch-checkpoint").read_text() == "0\n2\n0 0\n3 120\n"
    again = LeaderEpochs(str(tmp_path))
    assert again.load()
    assert _listed(again) == [(0, 0), (3, 120)]


def test_a_file_that_makes_no_sense_is_not_loaded(tmp_path: Path) -> None:
    for text in ("", "0", "1\n0\n", "0\n2\n0 0\n", "0\n1\nx y\n", "0\n1\n1\n"):
        (tmp_path / "leader-epoch-checkpoint").write_text(text)
        assert not LeaderEpochs(str(tmp_path)).load()


def test_an_epoch_is_noted_once_with_its_first_offset(tmp_path: Path) -> None:
    epochs = _epochs(tmp_path, (1, 0), (1, 5), (2, 10), (2, 11))
    assert _listed(epochs) == [(1, 0), (2, 10)]


def test_an_epoch_that_begins_earlier_overrules_those_behind_it(tmp_path: Path) -> None:
    assert _listed(_epochs(tmp_path, (1, 0), (2, 10), (3, 20), (4, 10))) == [(1, 0), (4, 10)]
    assert _listed(_epochs(tmp_path, (1, 0), (4, 10), (3, 20))) == [(1, 0), (3, 20)]


def test_the_end_of_an_epoch_is_where_the_next_begins(tmp_path: Path) -> None:
    epochs = _epochs(tmp_path, (2, 10), (4, 20), (7, 30))
    assert epochs.end_offset_for(2, 50) == (2, 20)
    assert epochs.end_offset_for(3, 50) == (2, 20)
    assert epochs.end_offset_for(4, 50) == (4, 30)
    assert epochs.end_offset_for(7, 50) == (7, 50)
    assert epochs.end_offset_for(1, 50) == (1, 10)
    assert epochs.end_offset_for(8, 50) == (-1, -1)
    assert epochs.end_offset_for(-1, 50) == (-1, -1)


def test_the_epoch_of_an_offset(tmp_path: Path) -> None:
    epochs = _epochs(tmp_path, (2, 10), (4, 20))
    assert [epochs.epoch_for_offset(offset) for offset in (9, 10, 19, 20, 99)] == [
        None, 2, 2, 4, 4,
    ]  # fmt: skip


def test_truncation_keeps_the_epoch_in_force(tmp_path: Path) -> None:
    epochs = _epochs(tmp_path, (1, 0), (2, 10), (3, 20))
    epochs.truncate_from_start(15)
    assert _listed(epochs) == [(2, 15), (3, 20)]
    epochs.truncate_from_end(20)
    assert _listed(epochs) == [(2, 15)]
    assert epochs.latest_epoch == 2
    epochs.clear()
    assert epochs.latest_epoch == -1
    again = LeaderEpochs(str(tmp_path))
    assert again.load()
    assert again.entries == []


def test_an_epoch_in_which_nobody_wrote_yet_begins_at_the_log_end(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    epochs = log.leader_epochs
    log.start_leader_epoch(1)
    assert epochs.end_offset_for(1, 0) == (1, 0)
    assert epochs.end_offset_for(0, 0) == (0, 0)
    append(log, batch(3), leader_epoch=1)
    log.start_leader_epoch(4)
    for end in (3, 5):
        assert epochs.end_offset_for(4, end) == (4, end)
        assert epochs.end_offset_for(2, end) == epochs.end_offset_for(1, end) == (1, end)
    assert epochs.end_offset_for(5, 3) == (-1, -1)
    assert Path(epochs.path).read_text() == "0\n1\n1 0\n"
    append(log, batch(2), leader_epoch=4)
    assert _listed(epochs) == [(1, 0), (4, 3)]
    assert [epochs.end_offset_for(epoch, 5) for epoch in (1, 2, 4)] == [(1, 3), (1, 3), (4, 5)]


def test_an_epoch_that_was_noted_before_anybody_wrote_goes_with_a_cut(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append(log, batch(3), leader_epoch=1)
    log.assign_epoch(2, 3)
    assert _listed(log.leader_epochs) == [(1, 0), (2, 3)]
    log.truncate_to(3, NOW)
    assert _listed(log.leader_epochs) == [(1, 0)]


def test_truncation_of_the_log_truncates_its_epochs(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    for epoch in (1, 2, 3):
        append(log, batch(2), leader_epoch=epoch)
    log.truncate_to(4, NOW)
    assert _listed(log.leader_epochs) == [(1, 0), (2, 2)]
    log.truncate_fully_at(100, NOW)
    assert _listed(log.leader_epochs) == []
    assert append(log, batch(1), leader_epoch=5).base_offset == 100
    assert _listed(log.leader_epochs) == [(5, 100)]
