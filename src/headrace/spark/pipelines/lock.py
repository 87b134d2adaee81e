"""One run of a pipeline at a time: a lock on a file that names the process holding it."""

from __future__ import annotations

import fcntl
import json
import os
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Holder:
    """The process that runs a pipeline. A process id alone may have been given out again."""

    pid: int
    #: When the process began, in the kernel's ticks since boot; 0 where that is not told.
    started: int = 0

    @property
    def is_alive(self) -> bool:
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return not self.started or process_start(self.pid) == self.started


class RunLock:
    """Held for as long as the file is open: a process that dies leaves no lock behind."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._descriptor: int | None = None

    def acquire(self) -> bool:
        """False if another process has it."""
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        holder = {"pid": os.getpid(), "started": process_start(os.getpid())}
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(holder).encode(), 0)
        self._descriptor = descriptor
        return True

    def release(self) -> None:
        if self._descriptor is not None:
            os.ftruncate(self._descriptor, 0)
            os.close(self._descriptor)
            self._descriptor = None


def holder_of(path: str) -> Holder | None:
    """Who holds the lock, if somebody does."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _read_holder(descriptor)
    finally:
        os.close(descriptor)
    return None


def _read_holder(descriptor: int) -> Holder | None:
    try:
        found = json.loads(os.pread(descriptor, 4096, 0))
        return Holder(int(found["pid"]), int(found.get("started", 0)))
    except (ValueError, KeyError, TypeError):
        return None


def process_start(pid: int) -> int:
    """Field 22 of /proc/PID/stat; the name before it may hold blanks and brackets."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
            return int(stat.read().rpartition(")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return 0
