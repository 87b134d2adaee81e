"""A driver may be killed at any step: its batch is there once, whole, after the replay."""

from pathlib import Path

import pytest

from headrace.spark.stores.commit_log import KEPT, Commit, CommitLog
from headrace.spark.stores.errors import StoreError
from headrace.spark.stores.files import LocalFiles

_BATCH = {"a.parquet": "one", "day=1/b.parquet": "two", "day=2/b.parquet": "three"}


class Killed(Exception):
    pass


class MortalFiles(LocalFiles):
    """Dies before its n-th change, or halfway into a delete."""

    def __init__(self, changes: int) -> None:
        self.left = changes

    def _step(self) -> None:
        if self.left == 0:
            raise Killed
        self.left -= 1

    def create(self, path: str, text: str) -> bool:
        self._step()
        return super().create(path, text)

    def rename(self, source: str, target: str) -> None:
        self._step()
        super().rename(source, target)

    def make_directory(self, path: str) -> None:
        self._step()
        super().make_directory(path)

    def delete(self, path: str) -> None:
        self._step()
        super().delete(path)

    def sync(self, path: str) -> None:
        self._step()
        super().sync(path)


def write_batch(files: LocalFiles, root: Path, batch_id: int, token: str) -> None:
    """What an output does with a batch; the content tells which attempt wrote it."""
    log = CommitLog(files, str(root), "orders")
    log.settle()
    if log.find(batch_id) is not None:
        return
    name = log.stage(batch_id, token)
    for path, text in _BATCH.items():
        staged = Path(log.path_of(name), path)
        staged.parent.mkdir(parents=True, exist_ok=True)
        staged.write_text(f"{text} by {token}")
    moves = {path: path.replace(".parquet", f"-{batch_id}.parquet") for path in _BATCH}
    log.commit(Commit("orders", batch_id, name, moves, 11))


def visible(root: Path) -> dict[str, str]:
    """What a reader that knows nothing of us finds."""
    return {
        str(path.relative_to(root)): path.read_text()
        for path in root.rglob("*.parquet")
        if not any(part.startswith("_") for part in path.relative_to(root).parts)
    }


def expected(token: str, batch_id: int = 0) -> dict[str, str]:
    return {
        path.replace(".parquet", f"-{batch_id}.parquet"): f"{text} by {token}"
        for path, text in _BATCH.items()
    }


def test_a_batch_killed_before_any_step_is_there_once_after_its_replay(tmp_path: Path) -> None:
    kills = 0
    while True:
        root = tmp_path / str(kills)
        root.mkdir()
        try:
            write_batch(MortalFiles(kills), root, 0, "first")
        except Killed:
            decided = Path(root, "_headrace/orders/00000000000000000000.json").exists()
            assert decided or visible(root) == {}
            write_batch(LocalFiles(), root, 0, "second")
            assert visible(root) == expected("first" if decided else "second")
            assert sorted(path.name for path in Path(root, "_headrace/orders").iterdir()) == [
                "00000000000000000000.json"
            ]
            kills += 1
            continue
        break
    assert visible(root) == expected("first")
    assert kills > 8  # or the kills would not have been between all the steps


def test_a_kill_while_an_earlier_one_is_being_mended_is_mended_too(tmp_path: Path) -> None:
    for first in range(30):
        for second in range(6):
            root = tmp_path / f"{first}-{second}"
            root.mkdir()
            try:
                write_batch(MortalFiles(first), root, 0, "first")
                return
            except Killed:
                pass
            try:
                write_batch(MortalFiles(second), root, 0, "second")
            except Killed:
                write_batch(LocalFiles(), root, 0, "third")
            contents = visible(root)
            assert contents in [expected("first"), expected("second"), expected("third")]


def test_the_next_batch_publishes_what_a_killed_one_had_decided(tmp_path: Path) -> None:
    with pytest.raises(Killed):
        write_batch(MortalFiles(6), tmp_path, 0, "first")
    assert len(visible(tmp_path)) < len(_BATCH)
    write_batch(LocalFiles(), tmp_path, 1, "next")
    assert visible(tmp_path) == {**expected("first"), **expected("next", 1)}


def test_only_the_last_records_are_kept_and_an_older_batch_is_not_written_again(
    tmp_path: Path,
) -> None:
    for batch_id in range(KEPT + 3):
        write_batch(LocalFiles(), tmp_path, batch_id, "t")
    assert len(list(Path(tmp_path, "_headrace/orders").iterdir())) == KEPT
    with pytest.raises(StoreError, match=r"^Batch 1 comes after batch 102 of the same query"):
        write_batch(LocalFiles(), tmp_path, 1, "t")


def test_of_two_drivers_that_write_the_same_batch_the_first_to_decide_stays(tmp_path: Path) -> None:
    slow = CommitLog(LocalFiles(), str(tmp_path), "orders")
    name = slow.stage(0, "slow")
    Path(slow.path_of(name)).mkdir()
    Path(slow.path_of(name), "a.parquet").write_text("slow")
    quick = CommitLog(LocalFiles(), str(tmp_path), "orders")
    quick.commit(Commit("orders", 0, quick.stage(0, "quick"), {}))
    with pytest.raises(StoreError, match="by somebody else at the same time"):
        slow.commit(Commit("orders", 0, name, {"a.parquet": "a.parquet"}))
    assert visible(tmp_path) == {}


def test_the_newest_commit_gives_its_notes_back(tmp_path: Path) -> None:
    log = CommitLog(LocalFiles(), str(tmp_path), "load")
    assert log.newest() is None
    for batch_id in (2, 10):
        notes = {"offsets": {"orders": {"0": batch_id}}}
        log.commit(Commit("load", batch_id, log.stage(batch_id, "t"), {}, notes=notes))
    newest = log.newest()
    assert newest is not None
    assert (newest.batch_id, newest.notes) == (10, {"offsets": {"orders": {"0": 10}}})
