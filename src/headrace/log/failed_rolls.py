"""What a roll that failed half-way left in a directory: an empty segment that the log outgrew.

The log went on in its old segment, past the offset where the new one was to begin. Whoever looks
for records behind that offset would look into the empty segment and find none.
"""

from headrace.log.index_repair import repair_indexes
from headrace.log.segment import Segment
from headrace.log.segments import Segments


def drop_overtaken(directory: str, segments: Segments, interval: int) -> None:
    """Drop empty segments that the one before them has grown past."""
    previous: Segment | None = None
    for segment in segments:
        if segment.size:
            previous = segment
        elif previous is not None:
            # Only a sound index tells where its segment ends.
            repair_indexes(directory, segments, previous, interval)
            if previous.next_offset() > segment.base_offset:
                segments.remove(segment)
                segment.delete_files()
