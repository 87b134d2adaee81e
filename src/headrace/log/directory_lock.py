"""`.lock`: one node at a time uses a data directory.

Java locks with POSIX record locks, which another Java process and our own sees; those of one
process never meet each other, so two nodes in one process would both succeed. On Linux locks of the
open file description conflict with both. BSD and macOS keep all kinds of locks in one list: there
`flock` conflicts with both, and a record lock besides would meet our own `flock` as a stranger's.

The file names the process that has it, for whoever wants to stop the node; Java never reads it.
"""

import fcntl
import os
import sys
from contextlib import suppress
from struct import pack

LOCK_FILE = ".lock"

#: A write lock on the whole file, as `struct flock` of 64-bit Linux has it.
_WHOLE_FILE = pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)


class DirectoryLock:
    """The lock of one data directory; a process that ends loses it."""

    __slots__ = ("_fd", "path")

    def __init__(self, directory: str) -> None:
        self.path = os.path.join(directory, LOCK_FILE)
        self._fd = -1

    def acquire(self) -> bool:
        """False if another node has it. Raises OSError if the file cannot be made."""
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            _lock(fd)
        except (BlockingIOError, PermissionError):
            os.close(fd)
            return False
        except BaseException:
            os.close(fd)
            raise
        self._fd = fd
        with suppress(OSError):  # a full disk keeps nobody from the lock
            os.ftruncate(fd, 0)
            os.pwrite(fd, b"%d" % os.getpid(), 0)
        return True

    def release(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _lock(fd: int) -> None:
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    # By its system, not by its name: new Macs have the name as well, with another structure.
    if sys.platform == "linux":
        fcntl.fcntl(fd, fcntl.F_OFD_SETLK, _WHOLE_FILE)


def locked_by(directory: str) -> int | None:
    """The process that the lock of a directory names, as long as it has the file open.

    A process of another container is named by a number that means somebody else here. Where the
    system does not tell open files the name alone has to do.
    """
    path = os.path.join(directory, LOCK_FILE)
    with suppress(OSError, ValueError):
        with open(path, "rb") as file:
            pid = int(file.read(32))
        if not os.path.isdir("/proc/self/fd") or _has_open(pid, path):
            return pid
    return None


def _has_open(pid: int, path: str) -> bool:
    opened = f"/proc/{pid}/fd"
    for descriptor in os.listdir(opened):
        with suppress(OSError):  # closed meanwhile
            if os.path.samefile(os.path.join(opened, descriptor), path):
                return True
    return False
