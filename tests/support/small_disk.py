"""A disk of a few megabytes that a test can fill, empty and make read-only."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.tools import missing

_FILLER = "filler"


class SmallDisk:
    """A mounted tmpfs."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def take(self, megabytes: int) -> None:
        """Leave so much less to everybody else."""
        (self.path / _FILLER).write_bytes(bytes(megabytes * 1024 * 1024))

    def fill(self) -> None:
        """Leave no byte to anybody else."""
        with (self.path / _FILLER).open("ab", buffering=0) as filler:
            for size in (65_536, 4_096, 1):
                try:
                    while True:
                        filler.write(bytes(size))
                except OSError:
                    continue

    def make_room(self) -> None:
        (self.path / _FILLER).unlink()

    def make_read_only(self) -> None:
        """Nobody may have a file open on it."""
        _run("mount", "-o", "remount,ro", str(self.path))


@contextmanager
def small_disk(path: Path, megabytes: int) -> Iterator[SmallDisk]:
    """Mount one; needs the right to mount, which root in a container with SYS_ADMIN has."""
    path.mkdir(parents=True)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    if mounted.returncode != 0:
        missing(f"a small disk cannot be mounted as user {os.getuid()}: {mounted.stderr.strip()}")
    try:
        yield SmallDisk(path)
    finally:
        _run("umount", "--lazy", str(path))


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)
