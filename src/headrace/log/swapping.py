"""Putting compacted segments in the place of those they were made from.

The dance of renames is Kafka's, so that a crash at any step leaves the old segments or the new
ones, never neither: `.cleaned` becomes `.swap` when complete; the old ones become `.deleted`;
`.swap` loses its suffix. Loading finishes what a crash interrupted (see `interrupted_swaps`).
"""

from contextlib import suppress

from headrace.base.durability import sync_directory
from headrace.log.file_names import CLEANED, DELETED, SWAP
from headrace.log.log_state import LogState
from headrace.log.retention import retire_segment, retire_snapshot
from headrace.log.segment import Segment


class DirectorySync:
    """The fsync of a directory between two steps; `run` may be called in another thread."""

    __slots__ = ("_directory", "error")

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self.error: OSError | None = None

    def run(self) -> None:
        """Wait for the disk. Never raises: whoever goes on looks at `error`."""
        try:
            sync_directory(self._directory)
        except FileNotFoundError:
            pass  # the partition was deleted meanwhile
        except OSError as error:
            self.error = error


def stage_segments(new: list[Segment]) -> None:
    """Call `.cleaned` segments, whose bytes are on the disk, complete: they become `.swap`.

    The names have to be on the disk before anything else happens.
    """
    # From the last on: loading drops a `.swap` at or above the lowest `.cleaned` it finds.
    for segment in sorted(new, key=_base_offset, reverse=True):
        segment.close()
        if segment.suffix == CLEANED:
            segment.rename(SWAP)


def discard_staged(new: list[Segment]) -> None:
    """The old segments stay: no start may take these in their place, now that the log goes on."""
    for segment in new:
        with suppress(OSError):
            segment.delete_files()


def take_over_segments(log: LogState, new: list[Segment], old: list[Segment], now_ms: int) -> None:
    """Put `.swap` segments in the place of `old` ones; the directory wants a sync afterwards."""
    due_ms = now_ms + log.config.file_delete_delay_ms
    kept = {segment.base_offset for segment in new}
    for segment in old:
        retire_segment(log, segment, due_ms)
        log.segments.remove(segment)
        if segment.base_offset not in kept:
            retire_snapshot(log, segment.base_offset, due_ms)
    for segment in new:
        segment.rename("")
        log.segments.add(segment)
    log.directory_unsynced = True


def has_begun(old: list[Segment]) -> bool:
    """Whether an old segment is out of the way: from then on only the new ones will do."""
    return any(segment.suffix.endswith(DELETED) for segment in old)


def _base_offset(segment: Segment) -> int:
    return segment.base_offset
