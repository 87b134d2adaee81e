"""Makes a Python on Linux look like one on a Mac, as far as our programs can tell.

Python imports this before anything else in every process that has this directory in PYTHONPATH: a
node, and the processes that it starts. What only Linux has is gone, and what a Mac does otherwise
is done in its way: the limit of open files, its kinds of locks, how a disk is told to write. Each
process notes in the file that HEADRACE_STAND_IN names what it was asked for.
"""

import builtins
import errno
import fcntl
import os
import resource
import select
import sys
from typing import Any

_NOTES = os.environ["HEADRACE_STAND_IN"]
_FULL_SYNC = 51
_OPEN_FILE_LOCK = 90
#: `kern.maxfilesperproc` of a small Mac.
_FILES_MAX = 10_240

#: Names that Python has on Linux and not on a Mac.
_LINUX_ONLY: dict[Any, tuple[str, ...]] = {
    os: (
        *("copy_file_range", "eventfd", "fdatasync", "getrandom", "getxattr", "listxattr"),
        *("memfd_create", "pidfd_open", "posix_fadvise", "posix_fallocate", "sched_getaffinity"),
        *("sched_setaffinity", "splice", "O_DIRECT", "O_TMPFILE", "O_PATH", "RWF_NOWAIT"),
        # A Mac has this one, with rules of its own.
        "sendfile",
    ),
    select: ("epoll", *(name for name in dir(select) if name.startswith("EPOLL"))),
    fcntl: ("F_OFD_GETLK", "F_OFD_SETLK", "F_OFD_SETLKW"),
    resource: ("prlimit",),
}
_SOCKETS = ("MSG_MORE", "TCP_KEEPIDLE", "TCP_USER_TIMEOUT", "TCP_QUICKACK", "TCP_CORK")

_real_open = builtins.open
_real_fcntl = fcntl.fcntl
_real_flock = fcntl.flock
_real_getrlimit = resource.getrlimit
_real_setrlimit = resource.setrlimit
#: Files that this process holds by `flock`.
_held: set[tuple[int, int]] = set()


def note(what: str) -> None:
    with _real_open(_NOTES, "a", encoding="utf-8") as notes:
        notes.write(f"{what}\n")


def _identity(fd: Any) -> tuple[int, int]:
    facts = os.fstat(fd if isinstance(fd, int) else fd.fileno())
    return facts.st_dev, facts.st_ino


def _open(file: Any, *args: Any, **options: Any) -> Any:
    if isinstance(file, str) and file.startswith(("/proc/", "/dev/shm/")):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), file)
    return _real_open(file, *args, **options)


def _fcntl(fd: Any, command: int, argument: Any = 0) -> Any:
    if command == _FULL_SYNC:
        note("full sync")
        os.fsync(fd)
        return 0
    if command == _OPEN_FILE_LOCK:
        # A Mac's `struct flock` has its fields elsewhere.
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
    return _real_fcntl(fd, command, argument)


def _flock(fd: Any, operation: int) -> None:
    _real_flock(fd, operation)
    _held.add(_identity(fd))


def _lockf(fd: Any, *_: Any) -> None:
    """All kinds of locks are in one list, and these belong to somebody else than `flock`'s."""
    if _identity(fd) in _held:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))


def _getrlimit(kind: int) -> tuple[int, int]:
    soft, hard = _real_getrlimit(kind)
    return soft, (resource.RLIM_INFINITY if kind == resource.RLIMIT_NOFILE else hard)


def _setrlimit(kind: int, limits: tuple[int, int]) -> None:
    if kind == resource.RLIMIT_NOFILE:
        if limits[0] > _FILES_MAX:
            raise ValueError("current limit exceeds maximum limit")
        note(f"open files: {limits[0]}")
        limits = (limits[0], _real_getrlimit(kind)[1])
    _real_setrlimit(kind, limits)


def _forget(module: Any, names: tuple[str, ...]) -> None:
    for name in names:
        if hasattr(module, name):
            delattr(module, name)


def _become_a_mac() -> None:
    note(f"started: {' '.join(sys.orig_argv[1:])}".replace("\n", " "))
    for module, names in _LINUX_ONLY.items():
        _forget(module, names)
    import socket  # and with it the module that chooses between the kinds of `select`

    _forget(socket, _SOCKETS)
    sys.platform = "darwin"
    replaced: dict[Any, dict[str, Any]] = {
        builtins: {"open": _open},
        fcntl: {
            "F_FULLFSYNC": _FULL_SYNC,
            "F_OFD_SETLK": _OPEN_FILE_LOCK,
            "fcntl": _fcntl,
            "flock": _flock,
            "lockf": _lockf,
        },
        resource: {"getrlimit": _getrlimit, "setrlimit": _setrlimit},
    }
    for module, values in replaced.items():
        for name, value in values.items():
            setattr(module, name, value)
    _real_setrlimit(resource.RLIMIT_NOFILE, (256, _real_getrlimit(resource.RLIMIT_NOFILE)[1]))
    if "HEADRACE_WITHOUT_UVLOOP" in os.environ:
        sys.modules["uvloop"] = None  # type: ignore[assignment]


_become_a_mac()
