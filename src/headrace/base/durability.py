"""What makes written bytes durable, on each system."""

import errno
import os
import sys

#: What file systems of other machines say to a request that only a local disk understands.
_NOT_UNDERSTOOD = frozenset({errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOTTY})


def sync_descriptor(fd: int) -> None:
    """Make a file's bytes and size durable; its times may wait where the system lets them."""
    if sys.platform == "darwin":
        _sync_on_mac(fd)
    else:
        os.fdatasync(fd)


def sync_directory(path: str) -> None:
    """Make created, renamed and removed names in a directory durable."""
    fd = os.open(path or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if sys.platform == "darwin":
            _sync_on_mac(fd)
        else:
            os.fsync(fd)
    finally:
        os.close(fd)


def _sync_on_mac(fd: int) -> None:
    """There `fsync` ends in the disk's own cache; Java's `force` asks for more, so Kafka does."""
    import fcntl

    command: int = getattr(fcntl, "F_FULLFSYNC")  # noqa: B009 - only a Mac's module has it
    try:
        fcntl.fcntl(fd, command)
    except OSError as error:
        # Any other failure is the disk's, and after that an `fsync` may succeed wrongly.
        if error.errno not in _NOT_UNDERSTOOD:
            raise
        os.fsync(fd)
