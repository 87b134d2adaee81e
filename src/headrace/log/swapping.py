"""Putting compacted segments in the place of those they were made from.

The dance of renames is Kafka's, so that a crash at any step leaves the old segments or the new
ones, never neither: `.cleaned` becomes `.swap` when complete; the old ones become `.deleted`;
`.swap` loses its suffix. Loading finishes what a crash interrupted (see `interrupted_swaps`).
"""

from headrace.log.file_names import CLEANED, SEGMENT_KINDS, SWAP
from headrace.log.log_state import LogState
from headrace.log.retention import retire_segment, retire_snapshot
from headrace.log.segment import Segment
from headrace.log.text_files import sync_directory, sync_file


def replace_segments(log: LogState, new: list[Segment], old: list[Segment], now_ms: int) -> None:
    """Swap `new` segments, whose files end in `.cleaned`, in for `old` ones."""
    due_ms = now_ms + log.config.file_delete_delay_ms
    for segment in new:
        for kind in SEGMENT_KINDS:
            sync_file(segment.path(kind))
    # From the last on: loading drops a `.swap` at or above the lowest `.cleaned` it finds.
    for segment in sorted(new, key=_base_offset, reverse=True):
        segment.close()
        if segment.suffix == CLEANED:
            segment.rename(SWAP)
    sync_directory(log.directory)
    kept = {segment.base_offset for segment in new}
    for segment in old:
        log.segments.remove(segment)
        retire_segment(log, segment, due_ms)
        if segment.base_offset not in kept:
            retire_snapshot(log, segment.base_offset, due_ms)
    for segment in new:
        segment.rename("")
        log.segments.add(segment)
    sync_directory(log.directory)


def _base_offset(segment: Segment) -> int:
    return segment.base_offset
