"""The nodes of this user on this machine, as `headrace server stop` without a file ends them all.

Only those that `headrace server start` or `headrace up` runs: an `EmbeddedKafka` belongs to its
test, and one within a program's own process is no process that anybody may end. A node tells
itself by three things together, so that no stranger is taken for one: how its process was started,
the lock of a data directory that it has open, and that this lock names it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from headrace.cli.command_lines import starts_a_node
from headrace.log.directory_lock import LOCK_FILE, is_locked, locked_by

_PROCESSES = "/proc"


class ServerProcess(NamedTuple):
    """A node that runs: its process, and a data directory that it has locked."""

    pid: int
    directory: str


def can_be_told() -> bool:
    """Whether this system lets a user see what its processes have open."""
    return os.path.isdir(f"{_PROCESSES}/self/fd")


def process_ids() -> list[int]:
    """All processes of this machine, ours and others'."""
    return sorted(int(name) for name in os.listdir(_PROCESSES) if name.isdecimal())


def running_servers() -> list[ServerProcess]:
    """The nodes of this user."""
    found = []
    for pid in process_ids():
        with suppress(OSError):  # it ended meanwhile, or is not ours to look into
            if os.stat(f"{_PROCESSES}/{pid}").st_uid == os.geteuid() and _is_server(pid):
                found += [ServerProcess(pid, directory) for directory in _locked(pid)][:1]
    return found


def _is_server(pid: int) -> bool:
    with open(f"{_PROCESSES}/{pid}/cmdline", "rb") as file:
        words = [os.fsdecode(word) for word in file.read().removesuffix(b"\0").split(b"\0")]
    return starts_a_node(words)


def _locked(pid: int) -> Iterator[str]:
    opened = f"{_PROCESSES}/{pid}/fd"
    for descriptor in os.listdir(opened):
        with suppress(OSError):  # closed meanwhile
            directory, name = os.path.split(os.readlink(os.path.join(opened, descriptor)))
            if name == LOCK_FILE and locked_by(directory) == pid and is_locked(directory):
                yield directory
