"""Where a streaming query began, kept in a file for a restart before its first batch is finished.

A checkpoint has the end of each batch; the beginning of the first is nowhere in it. A query that
starts at the end of its topics would begin further on when it is started again after a first batch
that failed, and what lies between would be lost to it. The runner names a file for each source.
"""

from __future__ import annotations

import json
import os

from headrace.base.durability import sync_descriptor
from headrace.client.leaders import TopicPartition
from headrace.spark.offsets import Offsets, from_json, to_json
from headrace.spark.options import SourceOptions


def recall(options: SourceOptions) -> dict[TopicPartition, int] | None:
    """Where an earlier run began; None if there was none, or it was asked for something else."""
    if options.initial_offsets_file is None:
        return None
    try:
        with open(options.initial_offsets_file, encoding="utf-8") as file:
            found = json.load(file)
        return from_json(found["offsets"]) if found["of"] == _identity(options) else None
    except (FileNotFoundError, ValueError, KeyError, TypeError, AttributeError):
        return None


def remember(options: SourceOptions, offsets: Offsets) -> None:
    """Write it down before anything is read; the file is there as a whole or not at all."""
    path = options.initial_offsets_file
    if path is None:
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    draft = f"{path}.{os.getpid()}.new"
    with open(draft, "w", encoding="utf-8") as file:
        json.dump({"of": _identity(options), "offsets": to_json(offsets)}, file)
        file.flush()
        sync_descriptor(file.fileno())
    os.replace(draft, path)


def _identity(options: SourceOptions) -> str:
    """What was asked for: whoever asks for another beginning before the first batch gets it."""
    return f"{options.subscription} from {options.starting}"
