"""Which leader epoch wrote from which offset on, kept in `leader-epoch-checkpoint`.

Followers find with it where their log leaves the leader's (KIP-101), consumers whether their
position still exists (KIP-320). Epochs and start offsets both only grow along the list.
"""

import os
from bisect import bisect_left, bisect_right
from typing import NamedTuple

from headrace.log.file_names import LEADER_EPOCH_CHECKPOINT
from headrace.log.text_files import read_small_file, replace_text_file

UNDEFINED_EPOCH = -1
UNDEFINED_EPOCH_OFFSET = -1


class EpochEntry(NamedTuple):
    """A leader epoch and the first offset it wrote."""

    epoch: int
    start_offset: int


class LeaderEpochs:
    """The epochs of one log."""

    __slots__ = ("_entries", "current_epoch", "has_pending", "latest_epoch", "path", "unsynced")

    def __init__(self, directory: str) -> None:
        self.path = os.path.join(directory, LEADER_EPOCH_CHECKPOINT)
        self._entries: list[EpochEntry] = []
        self.latest_epoch = UNDEFINED_EPOCH
        #: The epoch of a leader here, which has no entry before its first record: a node leads
        #: thousands of partitions that nobody writes to, and stores nothing for them.
        self.current_epoch = UNDEFINED_EPOCH
        #: Entries went that the file still has. The next flush stores that; until then loading
        #: drops them again.
        self.has_pending = False
        #: The file changed since its last fsync; a flush of the log takes it along.
        self.unsynced = False

    @property
    def entries(self) -> list[EpochEntry]:
        return list(self._entries)

    def load(self) -> bool:
        """Read the file; False if there is none or it is not readable."""
        try:
            lines = read_small_file(self.path).decode("ascii").split("\n")
            if lines[0] != "0":
                return False
            pairs = [line.split(" ") for line in lines[2 : 2 + int(lines[1])]]
            entries = [EpochEntry(int(epoch), int(offset)) for epoch, offset in pairs]
            if len(entries) != int(lines[1]):
                return False
        except (FileNotFoundError, ValueError, IndexError):
            return False
        for entry in entries:
            self._insert(entry)
        return True

    def assign(self, epoch: int, start_offset: int) -> None:
        """Note that `epoch` writes from `start_offset` on, and store it, if that is news."""
        entries, latest_epoch = self.entries, self.latest_epoch
        if self._insert(EpochEntry(epoch, start_offset)):
            try:
                self.store()
            except OSError:
                self._entries, self.latest_epoch = entries, latest_epoch
                raise

    def note(self, epoch: int, start_offset: int) -> None:
        """Like `assign`, for a scan that stores once at its end."""
        if epoch > self.latest_epoch:
            self._insert(EpochEntry(epoch, start_offset))

    def epoch_for_offset(self, offset: int) -> int | None:
        """The epoch that wrote the record at `offset`."""
        index = bisect_right(self._entries, offset, key=_start_offset)
        return self._entries[index - 1].epoch if index else None

    def end_offset_for(self, epoch: int, log_end_offset: int) -> EpochEntry:
        """The largest epoch not above `epoch`, and the offset where it ended."""
        if epoch == UNDEFINED_EPOCH:
            return EpochEntry(UNDEFINED_EPOCH, UNDEFINED_EPOCH_OFFSET)
        if epoch == max(self.latest_epoch, self.current_epoch):
            return EpochEntry(epoch, log_end_offset)
        above = bisect_right(self._entries, epoch, key=_epoch)
        if above < len(self._entries):
            end = self._entries[above].start_offset
        elif epoch < self.current_epoch:
            end = log_end_offset  # where the first record of the current epoch will be
        else:
            return EpochEntry(UNDEFINED_EPOCH, UNDEFINED_EPOCH_OFFSET)
        # Below the first known epoch: its data is gone, so it ended where the known ones begin.
        return EpochEntry(self._entries[above - 1].epoch if above else epoch, end)

    def truncate_from_end(self, end_offset: int) -> None:
        """Drop epochs that begin at `end_offset` or after it."""
        count = bisect_left(self._entries, end_offset, key=_start_offset)
        if count < len(self._entries):
            del self._entries[count:]
            self._changed()
            self.store()

    def truncate_from_start(self, start_offset: int) -> None:
        """Forget what lies before `start_offset`; the epoch in force there now begins there.

        The file is left to the next flush: deleting records has to work on a full disk.
        """
        count = bisect_right(self._entries, start_offset, key=_start_offset)
        if count == 0 or (count == 1 and self._entries[0].start_offset == start_offset):
            return
        epoch = self._entries[count - 1].epoch
        self._entries[:count] = [EpochEntry(epoch, start_offset)]
        self.has_pending = True

    def clear(self) -> None:
        if self._entries:
            self._entries.clear()
            self._changed()
            self.store()

    def store(self) -> None:
        """Replace the file. A flush of the log syncs it; a scan restores what a crash takes."""
        lines = ["0", str(len(self._entries))]
        lines += [f"{epoch} {offset}" for epoch, offset in self._entries]
        replace_text_file(self.path, "\n".join(lines) + "\n", sync=False)
        self.has_pending = False
        self.unsynced = True

    def _insert(self, entry: EpochEntry) -> bool:
        entries = self._entries
        if entries:
            latest = entries[-1]
            if entry.epoch == latest.epoch and entry.start_offset >= latest.start_offset:
                return False
        # An epoch that begins before others ended overrules them: they never got a record in.
        while entries and (
            entries[-1].epoch >= entry.epoch or entries[-1].start_offset >= entry.start_offset
        ):
            entries.pop()
        entries.append(entry)
        self._changed()
        return True

    def _changed(self) -> None:
        self.latest_epoch = self._entries[-1].epoch if self._entries else UNDEFINED_EPOCH


def _start_offset(entry: EpochEntry) -> int:
    return entry.start_offset


def _epoch(entry: EpochEntry) -> int:
    return entry.epoch
