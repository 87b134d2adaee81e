"""The `.checkpoint` files in the metadata directory."""

import contextlib
import os
from collections.abc import Sequence

from headrace.base.durability import sync_descriptor, sync_directory
from headrace.metadata.snapshot import (
    DELETED_SUFFIX,
    PARTIAL_SUFFIX,
    Snapshot,
    SnapshotId,
    parse_file_name,
    read_snapshot,
)
from headrace.metadata.snapshot_policy import SnapshotFile


class SnapshotFiles:
    """Finished snapshots by id."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._files: dict[SnapshotId, SnapshotFile] = {}

    def __contains__(self, snapshot_id: SnapshotId) -> bool:
        return snapshot_id in self._files

    @property
    def newest(self) -> SnapshotId | None:
        return max(self._files, default=None)

    @property
    def files(self) -> Sequence[SnapshotFile]:
        return list(self._files.values())

    def size_of(self, snapshot_id: SnapshotId) -> int:
        return self._files[snapshot_id].size

    def find(self) -> None:
        """See what the disk has, and sweep away what a crash left half done."""
        if not os.path.isdir(self._directory):
            return
        for name in os.listdir(self._directory):
            path = os.path.join(self._directory, name)
            found = parse_file_name(name)
            if found is not None:
                # Close enough for retention, and spares reading every file for its header.
                status = os.stat(path)
                written_ms = int(status.st_mtime * 1000)
                self._files[found] = SnapshotFile(found, status.st_size, written_ms)
            elif name.endswith((PARTIAL_SUFFIX, DELETED_SUFFIX)):
                with contextlib.suppress(OSError):
                    os.unlink(path)

    def read(self, snapshot_id: SnapshotId) -> Snapshot:
        with open(self._path(snapshot_id), "rb") as file:
            return read_snapshot(file.read(), snapshot_id)

    def write(
        self, snapshot_id: SnapshotId, batches: list[bytearray], last_contained_timestamp_ms: int
    ) -> SnapshotFile:
        """Write a snapshot so that it is there whole or not at all; may run in any thread."""
        path = self._path(snapshot_id)
        partial = path + ".part"
        with open(partial, "wb") as file:
            file.writelines(batches)
            file.flush()
            sync_descriptor(file.fileno())
            size = file.tell()
        os.replace(partial, path)
        sync_directory(self._directory)
        return SnapshotFile(snapshot_id, size, last_contained_timestamp_ms)

    def add(self, file: SnapshotFile) -> None:
        """Take note of a snapshot that was written."""
        self._files[file.snapshot_id] = file

    def delete_before(self, snapshot_id: SnapshotId) -> None:
        for older in [known for known in self._files if known < snapshot_id]:
            del self._files[older]
            with contextlib.suppress(OSError):
                os.unlink(self._path(older))

    def _path(self, snapshot_id: SnapshotId) -> str:
        return os.path.join(self._directory, snapshot_id.file_name)
