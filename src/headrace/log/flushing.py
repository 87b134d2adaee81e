"""Making a log durable: the owner prepares, any thread waits for the disk, the owner vouches.

The recovery point moves only in `finish`, after every fsync has succeeded. A failed fsync may have
dropped the pages it could not write, so the log refuses all work from then on.
"""

import contextlib

from headrace.base.durability import sync_descriptor, sync_directory
from headrace.log.errors import OUT_OF_FILES
from headrace.log.log_state import LogState
from headrace.log.open_files import OpenFile
from headrace.log.text_files import sync_file


class Flush:
    """One flush: made and finished by the log's owner; `run` may be called in another thread."""

    __slots__ = (
        "_directory",
        "_epochs_path",
        "_error",
        "_log",
        "_now_ms",
        "_offset",
        "_paths",
        "_pinned",
        "_truncations",
    )

    def __init__(self, log: LogState, offset: int, now_ms: int | None) -> None:
        log.require_healthy()
        self._log = log
        self._offset = offset
        self._now_ms = now_ms
        self._truncations = log.truncations
        self._error: OSError | None = None
        self._pinned: list[OpenFile] = []
        self._paths: list[str] = []
        self._directory = False
        try:
            self._gather()
        except OSError as error:
            self._unpin()
            self._leave_to_the_next()
            raise log.refuse("preparing a flush", error) from error

    def run(self) -> None:
        """Wait for the disk. Never raises: `finish` does."""
        try:
            for file in self._pinned:
                sync_descriptor(file.fd)
            for path in self._paths:
                sync_file(path)
            if self._directory:
                # A partition deleted meanwhile has nothing left to make durable.
                with contextlib.suppress(FileNotFoundError):
                    sync_directory(self._log.directory)
        except OSError as error:
            self._error = error

    def finish(self) -> None:
        """Move the recovery point, or fail the log if the disk failed."""
        log = self._log
        self._unpin()
        if self._error is not None and self._error.errno in OUT_OF_FILES:
            self._leave_to_the_next()  # no fsync has failed: some were not begun
            raise log.refuse("flushing", self._error) from self._error
        if self._error is not None:
            raise log.fail("flushing", self._error) from self._error
        if log.truncations != self._truncations:
            return  # what was synced may have been cut and written anew since
        if self._offset > log.recovery_point:
            log.recovery_point = self._offset
        if self._now_ms is not None:
            log.last_flush_ms = self._now_ms

    def _gather(self) -> None:
        """Write what is in memory, and note every file that changed since its last fsync."""
        log = self._log
        for segment in log.segments.from_offset(log.recovery_point):
            if segment.base_offset >= self._offset and segment.base_offset > log.recovery_point:
                break
            for index in (segment.offset_index, segment.time_index):
                if index.has_pending:
                    index.store()
                if index.unsynced:
                    self._paths.append(index.path)
                    index.unsynced = False
            segment.txn_index.store()
            if segment.txn_index.unsynced:
                self._paths.append(segment.txn_index.path)
                segment.txn_index.unsynced = False
            log.files.pin(segment.file)
            self._pinned.append(segment.file)
        self._paths += log.unsynced_paths
        log.unsynced_paths.clear()
        producers, epochs = log.producers, log.leader_epochs
        if epochs.has_pending:
            epochs.store()
        self._paths += map(producers.snapshot_path, sorted(producers.unsynced_snapshots))
        producers.unsynced_snapshots.clear()
        if epochs.unsynced:
            self._paths.append(epochs.path)
            epochs.unsynced = False
            log.directory_unsynced = True
        self._directory = log.directory_unsynced
        log.directory_unsynced = False

    def _leave_to_the_next(self) -> None:
        self._log.unsynced_paths += self._paths
        self._log.directory_unsynced |= self._directory

    def _unpin(self) -> None:
        while self._pinned:
            self._log.files.unpin(self._pinned.pop())
