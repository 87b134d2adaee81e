"""`.lock`: one node at a time uses a data directory.

Java locks with POSIX record locks, which another Java process and our own sees; those of one
process never meet each other, so two nodes in one process would both succeed. On Linux locks of the
open file description conflict with both. BSD and macOS keep all kinds of locks in one list: there
`flock` conflicts with both, and a record lock besides would meet our own `flock` as a stranger's.

While a node runs, the file names its process, for whoever wants to stop it; Java never reads it.
"""

import fcntl
import os
import sys
from contextlib import suppress
from struct import pack, unpack_from

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
        # A link in its place could lead to a file of somebody else, which is not ours to write to.
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        fd = os.open(self.path, flags, 0o644)
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

    def name_process(self) -> None:
        """Say who has it, until it is released."""
        self._write(b"%d" % os.getpid())

    def _write(self, text: bytes) -> None:
        with suppress(OSError):  # a full disk keeps nobody from the lock
            os.ftruncate(self._fd, 0)
            os.pwrite(self._fd, text, 0)

    def release(self) -> None:
        if self._fd >= 0:
            with suppress(OSError):
                if os.fstat(self._fd).st_size:
                    self._write(b"")
            os.close(self._fd)
            self._fd = -1


def _lock(fd: int) -> None:
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    # By its system, not by its name: new Macs have the name as well, with another structure.
    if sys.platform == "linux":
        fcntl.fcntl(fd, fcntl.F_OFD_SETLK, _WHOLE_FILE)


def is_locked(directory: str) -> bool:
    """Whether a node has it; on Linux without being in the way of one that starts just now."""
    lock = DirectoryLock(directory)
    if not os.path.exists(lock.path):
        return False
    if sys.platform != "linux":
        is_free = lock.acquire()
        lock.release()
        return not is_free
    fd = os.open(lock.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        answer = fcntl.fcntl(fd, fcntl.F_OFD_GETLK, _WHOLE_FILE)
    finally:
        os.close(fd)
    (kind,) = unpack_from("h", answer)
    return bool(kind != fcntl.F_UNLCK)


def locked_by(directory: str) -> int | None:
    """The process that the lock of a directory names, as long as it has the file open.

    A process of another container is named by a number that means somebody else here. Where the
    system does not tell open files the name alone has to do.
    """
    path = os.path.join(directory, LOCK_FILE)
    with suppress(OSError, ValueError):
        with open(path, "rb") as file:
            pid = int(file.read(32))
        # 0 and less stand for whole groups of processes, 1 for the first of all.
        if pid > 1 and (not os.path.isdir("/proc/self/fd") or _has_open(pid, path)):
            return pid
    return None


def _has_open(pid: int, path: str) -> bool:
    opened = f"/proc/{pid}/fd"
    for descriptor in os.listdir(opened):
        with suppress(OSError):  # closed meanwhile
            if os.path.samefile(os.path.join(opened, descriptor), path):
                return True
    return False
