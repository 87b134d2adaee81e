"""The producer state of a log together with its snapshots on disk.

A snapshot is taken at the start of each segment and at a clean stop. Together with the batches
behind it, it gives the state at any later offset (see `producer_rebuild`).
"""

import contextlib
import os

from headrace.log.errors import CorruptSnapshotError
from headrace.log.file_names import SNAPSHOT, file_name
from headrace.log.producer_snapshot import read_snapshot, write_snapshot
from headrace.log.producer_table import ProducerTable


class ProducerStates(ProducerTable):
    """The producers of one log and the snapshots in its directory."""

    __slots__ = ("directory", "snapshots", "unsynced_snapshots")

    def __init__(self, directory: str) -> None:
        super().__init__()
        self.directory = directory
        #: Offsets of the snapshots on disk, in order.
        self.snapshots: list[int] = []
        self.unsynced_snapshots: set[int] = set()

    def take_snapshot(self) -> None:
        """Write the state as of `end_offset`, unless that snapshot exists."""
        offset = self.end_offset
        if self.snapshots and self.snapshots[-1] >= offset:
            return
        write_snapshot(self.snapshot_path(offset), self._entries.values())
        self.snapshots.append(offset)
        self.unsynced_snapshots.add(offset)

    def load_snapshot(
        self, log_start_offset: int, end_offset: int, now_ms: int, expiration_ms: int
    ) -> None:
        """Start anew from the latest sound snapshot inside the log; the others outside go."""
        self.clear()
        self.end_offset = log_start_offset
        for offset in self.snapshots.copy():
            if not log_start_offset < offset <= end_offset:
                self.delete_snapshot(offset)
        while self.snapshots:
            offset = self.snapshots[-1]
            try:
                self.restore_snapshot(offset)
            except CorruptSnapshotError:
                self.delete_snapshot(offset)
                continue
            break
        self.remove_expired(now_ms, expiration_ms)

    def restore_snapshot(self, offset: int) -> None:
        """Take the state from one snapshot."""
        entries = read_snapshot(self.snapshot_path(offset))
        self._entries = {entry.producer_id: entry for entry in entries}
        self._index_ongoing()
        self.end_offset = offset

    def remove_stray_snapshots(self, base_offsets: list[int]) -> None:
        """Keep the snapshots at segment starts and the one of the last clean stop."""
        starts = set(base_offsets)
        strays = [offset for offset in self.snapshots if offset not in starts]
        if strays and base_offsets and strays[-1] > base_offsets[-1]:
            strays.pop()
        for offset in strays:
            self.delete_snapshot(offset)

    def delete_snapshot(self, offset: int) -> None:
        if offset in self.snapshots:
            self.snapshots.remove(offset)
        self.unsynced_snapshots.discard(offset)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.snapshot_path(offset))

    def reset(self, offset: int) -> None:
        """Forget all state and all snapshots; the log is empty and begins at `offset`."""
        self.clear()
        for snapshot in self.snapshots.copy():
            self.delete_snapshot(snapshot)
        self.end_offset = offset

    def snapshot_path(self, offset: int) -> str:
        return os.path.join(self.directory, file_name(offset, SNAPSHOT))
