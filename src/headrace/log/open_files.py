"""Files open lazily behind a cap, so that 10,000 partitions live with a small `ulimit -n`.

A file is opened when it is first used and closed again when others need its place. Which one has
to go is decided by the clock algorithm: using a file sets a mark and costs nothing else; the hand
takes marks away and closes the first file that has none.
"""

import errno
import os
from collections import deque

_UNLIMITED = 65536
_OPEN_FLAGS = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC


def process_limit() -> int:
    """How many files this process may have open (`ulimit -n`)."""
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _UNLIMITED if soft == resource.RLIM_INFINITY else soft


class OpenFile:
    """A path that may be open; readers take `fd` and fall back to `OpenFiles.open` below zero."""

    __slots__ = ("fd", "listed", "path", "pins", "used")

    def __init__(self, path: str) -> None:
        self.path = path
        self.fd = -1
        self.used = False
        self.pins = 0
        self.listed = False  # counts against the limit and may be closed for another


class OpenFiles:
    """All open log files of a node."""

    def __init__(self, limit: int = 512) -> None:
        self.limit = max(limit, 1)
        self._open: deque[OpenFile] = deque()

    @classmethod
    def for_process(cls) -> "OpenFiles":
        """As many as half of the process's limit; sockets and indexes need the rest."""
        return cls(max(16, process_limit() // 2))

    def __len__(self) -> int:
        return len(self._open)

    def open(self, file: OpenFile) -> int:
        """The descriptor of `file`, opened now if need be."""
        file.used = True
        if file.fd >= 0:
            if not file.listed:  # closed while pinned, and wanted again
                self._list(file)
            return file.fd
        while len(self._open) >= self.limit and self._close_one():
            pass
        while True:
            try:
                file.fd = os.open(file.path, _OPEN_FLAGS, 0o644)
            except OSError as error:
                # Somebody else took the descriptors that the limit promised: make room and retry.
                if error.errno in (errno.EMFILE, errno.ENFILE) and self._close_one():
                    continue
                raise
            self._list(file)
            return file.fd

    def pin(self, file: OpenFile) -> int:
        """Like `open`, but the descriptor stays valid for another thread until `unpin`."""
        fd = self.open(file)
        file.pins += 1
        return fd

    def unpin(self, file: OpenFile) -> None:
        file.pins -= 1
        if file.pins == 0 and not file.listed:
            self._close_descriptor(file)

    def close(self, file: OpenFile) -> None:
        """Close `file`; if it is pinned, as soon as the last pin is gone."""
        if not file.listed:
            return
        self._open.remove(file)
        file.listed = False
        if file.pins == 0:
            self._close_descriptor(file)

    def _list(self, file: OpenFile) -> None:
        self._open.append(file)
        file.listed = True

    def _close_one(self) -> bool:
        """Close the first file that nobody used since the hand last passed."""
        for _ in range(2 * len(self._open)):
            file = self._open.popleft()
            if file.used or file.pins:
                file.used = False
                self._open.append(file)
                continue
            file.listed = False
            self._close_descriptor(file)
            return True
        return False

    @staticmethod
    def _close_descriptor(file: OpenFile) -> None:
        fd, file.fd = file.fd, -1
        os.close(fd)
