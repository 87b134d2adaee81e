"""One partition on disk: append, read, and everything that changes where it begins and ends.

The directory, its files and their formats are Kafka's. A log belongs to one thread; the only
thing that may run elsewhere is the fsync of a flush (see `flushing`). `loading` makes one.
"""

import os
from collections.abc import Iterator

from headrace.base.errors import ErrorCode, KafkaError
from headrace.log import retention, swapping, truncation
from headrace.log.directories import remove_directory
from headrace.log.errors import OUT_OF_FILES, PASSING, LogDirFailure
from headrace.log.flushing import Flush
from headrace.log.log_appends import LogAppends
from headrace.log.log_reads import LogReads
from headrace.log.segment import Segment


class PartitionLog(LogAppends, LogReads):
    """The log of one partition."""

    __slots__ = ()

    # Durability

    def needs_flush(self, now_ms: int) -> bool:
        """True if a flush is due in the background: by `flush.ms`, by count, or after a roll."""
        unflushed = self.log_end_offset - self.recovery_point
        if unflushed <= 0:
            return False
        return (
            unflushed >= self._flush_messages
            or self.recovery_point < self.active.base_offset
            or now_ms - self.last_flush_ms >= self._config.flush_ms
        )

    def begin_flush(self, now_ms: int | None = None, *, offset: int | None = None) -> Flush:
        """A flush of everything below `offset` (the log end): call `run`, then `finish`.

        Kafka flushes only up to `active.base_offset` after a roll.
        """
        return Flush(self, self.log_end_offset if offset is None else offset, now_ms)

    def flush(self, now_ms: int | None = None) -> None:
        """Make everything durable, here and now."""
        flush = self.begin_flush(now_ms)
        flush.run()
        flush.finish()

    def close(self, clean: bool = True) -> None:
        """Let go of all files; a clean close leaves indexes, snapshot and data on the disk.

        An unclean one writes nothing, for a disk that failed.
        """
        try:
            if clean and self._failure is None:
                try:
                    self.active.finish()
                    self.producers.take_snapshot()
                except OSError as error:
                    raise self.fail("closing", error) from error
                self.flush()
        finally:
            for segment in self.segments:
                segment.close()

    # Where the log begins

    def delete_records_before(self, offset: int) -> None:
        """Move the log start up to `offset`; the caller knows that it is replicated."""
        self.require_healthy()
        if offset > self.log_end_offset:
            raise KafkaError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"Cannot delete records before {offset}: the log ends at {self.log_end_offset}.",
            )
        retention.advance_log_start(self, offset)

    def retain(self, now_ms: int, high_watermark: int) -> list[retention.Deletion]:
        """Delete segments that the settings no longer keep; their files go later."""
        self.require_healthy()
        try:
            return retention.retain(self, now_ms, high_watermark)
        except OSError as error:
            raise self.refuse("deleting segments", error) from error

    def take_due_files(self, now_ms: int) -> list[str]:
        """Files of deleted segments whose `file.delete.delay.ms` is over, to be removed."""
        due = [path for due_ms, path in self.pending_deletes if due_ms <= now_ms]
        if due:
            self.pending_deletes = [entry for entry in self.pending_deletes if entry[0] > now_ms]
        return due

    def delete_due_files(self, now_ms: int) -> None:
        """Remove them here and now."""
        paths = self.take_due_files(now_ms)
        try:
            retention.remove_files(paths)
        except OSError as error:
            raise self.not_deleted(paths, now_ms, error) from error

    def not_deleted(self, paths: list[str], now_ms: int, error: OSError) -> LogDirFailure:
        """The disk did not remove what was taken: a full one may, at the next look."""
        self.pending_deletes += [(now_ms + 1, path) for path in paths]
        return self.refuse("deleting files", error)

    def expire_producers(self, now_ms: int) -> int:
        """Forget producers idle for `producer.id.expiration.ms`."""
        return self.producers.remove_expired(now_ms, self.producer_expiration_ms)

    # Where the log ends

    def truncate_to(self, offset: int, now_ms: int) -> bool:
        """Drop the batch that holds `offset` and all after it; False if there is nothing."""
        self.require_healthy()
        try:
            return truncation.truncate_to(self, offset, now_ms)
        except OSError as error:
            raise self.fail("truncating", error) from error

    def truncate_fully_at(
        self, offset: int, now_ms: int, log_start_offset: int | None = None
    ) -> None:
        """Drop everything and go on at `offset`."""
        self.require_healthy()
        try:
            truncation.truncate_fully_at(self, offset, now_ms, log_start_offset)
        except OSError as error:
            raise self.fail("truncating", error) from error

    # Compaction and directories

    def swap_segments(
        self, new: list[Segment], old: list[Segment], now_ms: int
    ) -> Iterator[swapping.DirectorySync]:
        """Put `.cleaned` segments in the place of those they were made from.

        What it yields waits for the disk and may run in another thread; a caller that does not
        come back leaves the old segments in use, and `.swap` files for loading to finish with.
        """
        self.require_healthy()
        try:
            swapping.stage_segments(new)
            yield from self._synced()
        except OSError as error:
            swapping.discard_staged(new)
            raise self.refuse("preparing to swap compacted segments in", error) from error
        try:
            swapping.take_over_segments(self, new, old, now_ms)
        except OSError as error:
            if swapping.has_begun(old) or error.errno not in PASSING:
                # The new segments stay, for loading to put in place.
                raise self.fail("swapping compacted segments in", error) from error
            swapping.discard_staged(new)
            raise self.refuse("swapping compacted segments in", error) from error
        try:
            yield from self._synced()
        except OSError as error:
            # Without a descriptor no sync has begun: the next flush has it to do, and until then
            # loading would finish from the `.swap` files, whose names are on the disk.
            if error.errno not in OUT_OF_FILES:
                raise self.fail("swapping compacted segments in", error) from error
            self.directory_unsynced = True

    def _synced(self) -> Iterator[swapping.DirectorySync]:
        sync = swapping.DirectorySync(self.directory)
        yield sync
        self.require_healthy()
        if sync.error is not None:
            raise sync.error

    def rename_directory(self, directory: str) -> None:
        """Rename the partition's directory, as a deletion or a move between disks begins."""
        try:
            os.rename(self.directory, directory)
        except OSError as error:
            raise self.refuse("renaming the directory", error) from error
        self.pending_deletes = [
            (due_ms, os.path.join(directory, os.path.basename(path)))
            for due_ms, path in self.pending_deletes
        ]
        self.directory = directory
        self.leader_epochs.path = os.path.join(directory, os.path.basename(self.leader_epochs.path))
        self.producers.directory = directory
        for segment in self.segments:
            segment.move(directory)

    def delete_directory(self) -> None:
        """Remove the partition from the disk."""
        for segment in self.segments:
            segment.close()
        try:
            remove_directory(self.directory)
        except OSError as error:
            raise self.fail("deleting the directory", error) from error
