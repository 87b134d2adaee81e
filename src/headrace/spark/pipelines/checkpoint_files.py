"""What Spark wrote into a checkpoint: the last finished batch and the offsets it ended at.

The files are `offsets/N` (planned) and `commits/N` (finished), each with a version line, a line of
JSON and, for offsets, a line for each source. Only checkpoints in a local directory are read.
"""

from __future__ import annotations

import json
import os
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from headrace.spark.offsets import OffsetJson

_NONE = "-"


class FinishedBatch(NamedTuple):
    """The end offset of each source is its JSON, None where the source has none."""

    batch_id: int
    sources: list[Any]


def local_path(checkpoint: str) -> str | None:
    """The directory of a checkpoint, if it is on this machine."""
    parts = urlsplit(checkpoint)
    if parts.scheme in ("", "file"):
        return unquote(parts.path) if parts.scheme else checkpoint
    return None


def last_finished(checkpoint: str) -> FinishedBatch | None:
    """The last batch that is in the commit log; None if there is none, or it cannot be seen."""
    directory = local_path(checkpoint)
    if directory is None:
        return None
    finished = max(_batches(os.path.join(directory, "commits")), default=None)
    if finished is None:
        return None
    try:
        with open(os.path.join(directory, "offsets", str(finished)), encoding="utf-8") as file:
            lines = file.read().splitlines()
    except OSError:
        return None
    return FinishedBatch(finished, [_source(line) for line in lines[2:]])


def is_stateful(checkpoint: str) -> bool | None:
    """Whether the query of this checkpoint has kept state; None before its first batch."""
    directory = local_path(checkpoint)
    if directory is None or last_finished(checkpoint) is None:
        return None
    return os.path.isdir(os.path.join(directory, "state"))


def kafka_offsets(sources: list[Any]) -> OffsetJson:
    """The offsets of all Kafka sources; where two read a partition, the one that is behind."""
    merged: OffsetJson = {}
    for source in sources:
        if not is_kafka(source):
            continue
        for topic, partitions in source.items():
            known = merged.setdefault(topic, {})
            for partition, offset in partitions.items():
                known[partition] = min(offset, known.get(partition, offset))
    return merged


def is_kafka(source: Any) -> bool:
    """Whether an offset is that of Kafka's kind: {"orders": {"0": 12}}."""
    return (
        isinstance(source, dict)
        and bool(source)
        and all(
            isinstance(partitions, dict)
            and all(p.isdecimal() and isinstance(o, int) for p, o in partitions.items())
            for partitions in source.values()
        )
    )


def _source(line: str) -> Any:
    if line == _NONE:
        return None
    try:
        return json.loads(line)
    except ValueError:
        return line


def _batches(directory: str) -> list[int]:
    try:
        return [int(name) for name in os.listdir(directory) if name.isdecimal()]
    except OSError:
        return []
