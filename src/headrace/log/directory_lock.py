"""`.lock`: one node at a time uses a data directory.

Java locks with POSIX record locks, which another Java process and our own sees; those of one
process never meet each other, so two nodes in one process would both succeed. Locks of the open
file description (Linux) conflict with both; elsewhere `flock` is added for our own kind.
"""

import fcntl
import os
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
        return True

    def release(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _lock(fd: int) -> None:
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    command = getattr(fcntl, "F_OFD_SETLK", None)
    if command is not None:
        fcntl.fcntl(fd, command, _WHOLE_FILE)
    else:
        fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
