"""What a disk is told, where `fsync` alone does not reach it."""

import errno
import fcntl
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from headrace.base.durability import sync_descriptor, sync_directory

_FULL_SYNC = 51

Asked = list[str]


@pytest.fixture
def on_a_mac(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], Asked]:
    """What is asked of a Mac whose file system answers with this error, 0 for none."""

    def begin(error: int) -> Asked:
        asked: Asked = []

        def full_sync(fd: int, command: int) -> int:
            assert command == _FULL_SYNC
            asked.append("full sync")
            if error:
                raise OSError(error, os.strerror(error))
            return 0

        monkeypatch.setattr(sys, "platform", "darwin")
        monkeypatch.setattr(fcntl, "F_FULLFSYNC", _FULL_SYNC, raising=False)
        monkeypatch.setattr(fcntl, "fcntl", full_sync)
        monkeypatch.setattr(os, "fsync", lambda fd: asked.append("fsync"))
        monkeypatch.delattr(os, "fdatasync", raising=False)
        return asked

    return begin


def test_a_mac_is_told_to_write_through_the_disks_own_cache(
    on_a_mac: Callable[[int], Asked], tmp_path: Path
) -> None:
    asked = on_a_mac(0)
    with open(tmp_path / "file", "wb") as file:
        sync_descriptor(file.fileno())
    sync_directory(str(tmp_path))
    assert asked == ["full sync", "full sync"]


def test_a_file_system_that_does_not_know_the_request_gets_the_plain_one(
    on_a_mac: Callable[[int], Asked], tmp_path: Path
) -> None:
    asked = on_a_mac(errno.ENOTSUP)
    sync_directory(str(tmp_path))
    assert asked == ["full sync", "fsync"]


def test_a_disk_that_fails_is_not_asked_again(
    on_a_mac: Callable[[int], Asked], tmp_path: Path
) -> None:
    asked = on_a_mac(errno.EIO)
    with pytest.raises(OSError, match="Input/output error"):
        sync_directory(str(tmp_path))
    assert asked == ["full sync"]
