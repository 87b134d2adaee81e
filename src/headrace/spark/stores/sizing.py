"""How many files a batch should be: decided by the bytes that were written, not by a guess.

A batch is written as it comes, a file per task, which costs nothing extra. Only if that made a
swarm of small files, or files far too large, is it written once more, from the files themselves.
Small swarms are cheap to write again; large files are avoided from then on by counting rows.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

#: What readers are fastest with, and the default of Spark's own reader for one task.
TARGET_FILE_BYTES = 128 * 1024 * 1024

#: A file may be this much over the target before it is worth another pass.
_TOO_LARGE = 2.0


@dataclass(frozen=True, slots=True)
class Layout:
    """How a batch is to be written again."""

    #: Tasks that write it.
    tasks: int
    #: Rows after which a task begins another file; 0 is no limit.
    rows_per_file: int = 0


def better_layout(sizes: Mapping[str, int], rows: int, target: int) -> Layout | None:
    """None if the files are good as they are; `sizes` has them by their path."""
    total = sum(sizes.values())
    by_directory: Counter[str] = Counter()
    for path, size in sizes.items():
        by_directory[path.rpartition("/")[0]] += size
    needed = sum(max(1, math.ceil(size / target)) for size in by_directory.values())
    too_large = max(sizes.values(), default=0) > target * _TOO_LARGE
    if not too_large and len(sizes) <= needed * 2 - (needed == 1):
        return None
    tasks = max(1, math.ceil(total / target))
    return Layout(tasks, rows_per_file(total, rows, target))


def rows_per_file(total_bytes: int, rows: int, target: int) -> int:
    """How many rows of this kind make a file of the target's size."""
    if rows == 0 or total_bytes == 0:
        return 0
    # A little more than fits, or the last rows of each task would be a small file of their own.
    return max(1, math.ceil(target / (total_bytes / rows) * 1.25))
