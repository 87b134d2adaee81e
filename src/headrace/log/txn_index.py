"""`.txnindex`: the aborted transactions that end in a segment, for readers of committed data.

The file exists only once there is something in it. Entries are written at once: an abort is rare.
While a full disk refuses them they stay in memory.
"""

import contextlib
import errno
import os
from struct import Struct
from typing import NamedTuple

from headrace.log.errors import CorruptIndexError

ENTRY_SIZE = 34
_VERSION = 0
_ENTRY = Struct(">hqqqq")


class AbortedTxn(NamedTuple):
    """One aborted transaction; the marker that ended it is at `last_offset`."""

    producer_id: int
    first_offset: int
    last_offset: int
    #: The last stable offset right after the abort: nothing later concerns a reader below it.
    last_stable_offset: int


class TxnIndex:
    """The transaction index of one segment."""

    __slots__ = ("_pending", "_stored", "base_offset", "path", "unsynced")

    def __init__(self, path: str, base_offset: int) -> None:
        self.path = path
        self.base_offset = base_offset
        #: Entries in the file, once somebody asked, and those that it has yet to get.
        self._stored: list[AbortedTxn] | None = None
        self._pending: list[AbortedTxn] = []
        #: The file changed since its last fsync.
        self.unsynced = False

    @property
    def entries(self) -> list[AbortedTxn]:
        """All entries, read from the file at first use."""
        stored = self._read_once()
        return stored + self._pending if self._pending else stored

    def append(self, aborted: AbortedTxn) -> None:
        """Note an abort and store it. On OSError it is noted all the same; see `store`."""
        self._pending.append(aborted)
        self.store()

    def store(self) -> None:
        """Write what the file has yet to get."""
        if not self._pending:
            return
        stored = self._read_once()
        data = b"".join(_ENTRY.pack(_VERSION, *aborted) for aborted in self._pending)
        fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            if os.pwrite(fd, data, len(stored) * ENTRY_SIZE) != len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self.path)
        finally:
            os.close(fd)
        stored += self._pending
        self._pending = []
        self.unsynced = True

    def collect(self, start: int, end: int, found: list[AbortedTxn]) -> bool:
        """Add what concerns offsets from `start` up to `end`; True if no later segment matters."""
        for aborted in self.entries:
            if aborted.last_offset >= start and aborted.first_offset < end:
                found.append(aborted)
            if aborted.last_stable_offset >= end:
                return True
        return False

    def truncate_to(self, offset: int) -> None:
        """Forget aborts whose marker is at `offset` or after it."""
        stored = self._read_once()
        kept = [aborted for aborted in stored if aborted.last_offset < offset]
        if len(kept) != len(stored):
            os.truncate(self.path, len(kept) * ENTRY_SIZE)
            self._stored = kept
            self.unsynced = True
        self._pending = [aborted for aborted in self._pending if aborted.last_offset < offset]

    def reset(self) -> None:
        """Forget everything; recovery and compaction write it anew."""
        with contextlib.suppress(FileNotFoundError):
            os.truncate(self.path, 0)
        self._stored = []
        self._pending = []

    def check(self) -> None:
        """Raise `CorruptIndexError` if the file cannot belong to this segment."""
        try:
            size = os.stat(self.path).st_size
        except FileNotFoundError:
            return
        if size % ENTRY_SIZE:
            raise CorruptIndexError(f"{self.path} has {size} bytes, no multiple of {ENTRY_SIZE}")
        for aborted in self.entries:
            if aborted.last_offset < self.base_offset:
                raise CorruptIndexError(f"{self.path} holds {aborted}, before its segment")

    def _read_once(self) -> list[AbortedTxn]:
        if self._stored is None:
            self._stored = _read(self.path)
        return self._stored


def _read(path: str) -> list[AbortedTxn]:
    try:
        with open(path, "rb") as file:
            data = file.read()
    except FileNotFoundError:
        return []
    entries = []
    for version, *fields in _ENTRY.iter_unpack(data[: len(data) // ENTRY_SIZE * ENTRY_SIZE]):
        if version > _VERSION:
            raise CorruptIndexError(f"{path} has an entry of unknown version {version}")
        entries.append(AbortedTxn(*fields))
    return entries
