"""Files that are created whole, once, also where there are no hard links."""

import errno
import os
from pathlib import Path

import pytest

from headrace.spark.stores.files import LocalFiles


@pytest.fixture(params=["links", "no links"])
def files(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> LocalFiles:
    if request.param == "no links":

        def refuse(*_: object) -> None:
            raise OSError(errno.EPERM, "no links here")

        monkeypatch.setattr(os, "link", refuse)
    return LocalFiles()


def test_the_first_to_create_a_file_wins(files: LocalFiles, tmp_path: Path) -> None:
    path = str(tmp_path / "record")
    assert files.create(path, "first")
    assert not files.create(path, "second")
    assert files.read(path) == "first"
    assert files.names(str(tmp_path)) == ["record"]


def test_a_full_disk_is_not_taken_for_a_lost_race(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "link", full)
    with pytest.raises(OSError, match="full"):
        LocalFiles().create(str(tmp_path / "record"), "x")
    assert list(tmp_path.iterdir()) == []


def test_hidden_files_are_no_data(tmp_path: Path) -> None:
    for name in (".a.parquet.crc", "_SUCCESS", "a.parquet", "day=1/b.parquet"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("12")
    assert LocalFiles().sizes(str(tmp_path)) == {"a.parquet": 2, "day=1/b.parquet": 2}
    assert LocalFiles().sizes(str(tmp_path / "nowhere")) == {}


def test_what_is_not_there_is_none_nothing_and_no_failure(tmp_path: Path) -> None:
    gone = str(tmp_path / "gone")
    files = LocalFiles()
    assert (files.read(gone), files.names(gone), files.exists(gone)) == (None, [], False)
    files.delete(gone)
