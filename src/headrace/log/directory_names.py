"""How partitions' directories are named inside a data directory.

`topic-partition`, or `topic-partition.uniqueid-suffix` for one that is being deleted, that belongs
to no topic any more (stray), or that is being filled to take another directory's place (future).
"""

import re
from typing import NamedTuple

DELETE = "delete"
STRAY = "stray"
FUTURE = "future"

_LONGEST_NAME = 255
_SUFFIXED = re.compile(r"(\S+)-(\d+)\.(\S+)-(delete|stray|future)")
_PLAIN = re.compile(r"(\S+)-(\d+)")


class PartitionDirectoryName(NamedTuple):
    """A directory's name taken apart; `suffix` is empty for a partition in use."""

    topic: str
    partition: int
    suffix: str = ""


def partition_directory_name(topic: str, partition: int) -> str:
    """For instance `orders-0`."""
    return f"{topic}-{partition}"


def suffixed_directory_name(topic: str, partition: int, unique_id: bytes, suffix: str) -> str:
    """For instance `orders-0.5f0c…-delete`; a long topic is cut so that the name stays legal."""
    tail = f"-{partition}.{unique_id.hex()}-{suffix}"
    return topic[: _LONGEST_NAME - len(tail)] + tail


def parse_directory_name(name: str) -> PartitionDirectoryName | None:
    """What a directory's name says; None if it is not a partition's."""
    match = _SUFFIXED.fullmatch(name)
    if match is not None:
        return PartitionDirectoryName(match[1], int(match[2]), match[4])
    if name.endswith((f"-{DELETE}", f"-{STRAY}", f"-{FUTURE}")):
        return None
    match = _PLAIN.fullmatch(name)
    return PartitionDirectoryName(match[1], int(match[2])) if match is not None else None
