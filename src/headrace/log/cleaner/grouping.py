"""Which segments are cleaned into one, so that compaction does not leave ever smaller ones."""

from collections.abc import Sequence

from headrace.log.cleaner.job import SegmentFacts
from headrace.log.config import INT32_MAX


def group_segments(
    segments: Sequence[SegmentFacts],
    *,
    segment_bytes: int,
    index_bytes: int,
    end_offset: int,
) -> list[list[SegmentFacts]]:
    """Runs of neighbours whose log and index sizes together stay within those of one segment.

    Sizes are those before cleaning, as what remains is not known yet. Offsets in an index are
    relative to the base offset and have 31 bits, so a group's range must fit those too.
    """
    groups: list[list[SegmentFacts]] = []
    log_size = offset_index_size = time_index_size = 0
    for index, segment in enumerate(segments):
        following = segments[index + 1].base_offset if index + 1 < len(segments) else end_offset
        fits = (
            bool(groups)
            and log_size + segment.size <= segment_bytes
            and offset_index_size + segment.offset_index_size <= index_bytes
            and time_index_size + segment.time_index_size <= index_bytes
            and (segment.size == 0 or following - 1 - groups[-1][0].base_offset <= INT32_MAX)
        )
        if not fits:
            groups.append([])
            log_size = offset_index_size = time_index_size = 0
        groups[-1].append(segment)
        log_size += segment.size
        offset_index_size += segment.offset_index_size
        time_index_size += segment.time_index_size
    return groups
