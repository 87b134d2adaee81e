"""Tidying up a partition's directory after a crash: leftovers go, a begun swap is finished.

Only names are touched here. The rules are Kafka's, since either may find what the other left.
"""

import os

from headrace.base.durability import sync_directory
from headrace.log.file_names import (
    CLEANED,
    DELETED,
    LOG,
    SEGMENT_KINDS,
    SWAP,
    kind_of,
    offset_of,
    offsets_of_kind,
)
from headrace.log.open_files import OpenFiles
from headrace.log.segment import Segment

#: A metadata snapshot on its way out is the metadata log's own business.
_SNAPSHOT_DELETED = ".checkpoint.deleted"
_LEFTOVERS = (DELETED, CLEANED, SWAP)


def tidy_directory(directory: str) -> list[str]:
    """Leave only files that belong to the log as it stands; their names."""
    names = os.listdir(directory)
    swaps, has_leftovers = _remove_leftovers(directory, names)
    if swaps:
        _finish_swaps(directory, swaps)
    if swaps or has_leftovers:
        sync_directory(directory)
        names = os.listdir(directory)
    return _without_orphans(directory, names)


def _remove_leftovers(directory: str, names: list[str]) -> tuple[list[str], bool]:
    """Delete what was deleted or half written; the names of complete `.swap` files."""
    swaps: list[str] = []
    cleaned: list[str] = []
    doomed: list[str] = []
    for name in names:
        if not name.endswith(_LEFTOVERS):
            continue
        if name.endswith(DELETED):
            if not name.endswith(_SNAPSHOT_DELETED):
                doomed.append(name)
        elif offset_of(name) is None:
            continue
        elif name.endswith(CLEANED):
            cleaned.append(name)
        elif name.endswith(SWAP):
            swaps.append(name)
    # Renaming went from the highest offset down: at or above a `.cleaned`, nothing is complete.
    lowest_cleaned = min((offset_of(name) or 0 for name in cleaned), default=None)
    if lowest_cleaned is not None:
        doomed += [name for name in swaps if (offset_of(name) or 0) >= lowest_cleaned]
        swaps = [name for name in swaps if name not in doomed]
    for name in doomed + cleaned:
        os.unlink(os.path.join(directory, name))
    return swaps, bool(doomed or cleaned)


def _finish_swaps(directory: str, swaps: list[str]) -> None:
    """Delete the segments that `.swap` files replace, then give those their names."""
    ranges = []
    for name in swaps:
        base_offset = offset_of(name)
        if base_offset is not None and kind_of(name) == LOG + SWAP:
            segment = Segment.open(OpenFiles(1), directory, base_offset, 0, suffix=SWAP)
            ranges.append((base_offset, segment.next_offset()))
            segment.close()
    if ranges:
        low = min(start for start, _ in ranges)
        high = max(end for _, end in ranges)
        for name in os.listdir(directory):
            offset = offset_of(name)
            if offset is not None and not name.endswith(SWAP) and low <= offset < high:
                os.unlink(os.path.join(directory, name))
    for name in swaps:
        path = os.path.join(directory, name)
        os.rename(path, path.removesuffix(SWAP))


def _without_orphans(directory: str, names: list[str]) -> list[str]:
    """Remove indexes that have no log file."""
    logs = set(log_offsets(names))
    kept = []
    for name in names:
        if kind_of(name) in SEGMENT_KINDS and offset_of(name) not in logs:
            os.unlink(os.path.join(directory, name))
        else:
            kept.append(name)
    return kept


def log_offsets(names: list[str]) -> list[int]:
    """The base offsets of all segments among a directory's files, in order."""
    return offsets_of_kind(names, LOG)
