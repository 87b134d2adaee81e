"""Offsets of many partitions in one text file of a data directory: Kafka's offset checkpoints.

A version line (`0`), a count line, then `topic partition offset` lines. The file is only ever
replaced as a whole, and an empty one, as a fresh directory has it, holds no offsets.
"""

import os
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from headrace.log.text_files import replace_text_file

RECOVERY_POINT_CHECKPOINT = "recovery-point-offset-checkpoint"
LOG_START_CHECKPOINT = "log-start-offset-checkpoint"
HIGH_WATERMARK_CHECKPOINT = "replication-offset-checkpoint"
CLEANER_CHECKPOINT = "cleaner-offset-checkpoint"

#: Every data directory has these four.
CHECKPOINT_NAMES = (
    RECOVERY_POINT_CHECKPOINT,
    LOG_START_CHECKPOINT,
    HIGH_WATERMARK_CHECKPOINT,
    CLEANER_CHECKPOINT,
)

_VERSION = "0"

TopicPartition: TypeAlias = tuple[str, int]


class CheckpointError(Exception):
    """A checkpoint file that does not hold what it should; the message names file and line."""


class OffsetCheckpoint:
    """One checkpoint file."""

    __slots__ = ("_kept", "_stored", "path")

    def __init__(self, directory: str, name: str) -> None:
        self.path = os.path.join(directory, name)
        #: What the file holds, as far as this object wrote it: an idle node need not write it anew.
        self._stored: int | None = None
        #: Entries of partitions that nobody could load, which may be mended by the next start.
        self._kept: dict[TopicPartition, int] = {}

    def create_if_missing(self) -> None:
        """Leave an empty file where there is none, as Kafka does when it starts."""
        os.close(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644))

    def read(self) -> dict[TopicPartition, int]:
        """All offsets; a missing or empty file has none. Raises `CheckpointError`."""
        try:
            with open(self.path, encoding="utf-8") as file:
                lines = file.read().splitlines()
        except FileNotFoundError:
            return {}
        except UnicodeDecodeError:
            raise CheckpointError(f"{self.path} is not a text file") from None
        if len(lines) < 2:
            if lines and lines[0] != _VERSION:
                raise CheckpointError(f"{self.path} begins with {lines[0]!r} instead of a version")
            return {}
        if lines[0] != _VERSION:
            raise CheckpointError(f"{self.path} has version {lines[0]!r}, only 0 is known")
        return self._parse(lines[1], lines[2:])

    def keep(self, partitions: Iterable[TopicPartition]) -> None:
        """Let what the file says of these stand in every later write. Raises `CheckpointError`."""
        offsets = self.read()
        self._kept = {key: offsets[key] for key in partitions if key in offsets}

    def write(self, offsets: Mapping[TopicPartition, int]) -> bool:
        """Replace the file, durable on return; False if it holds just these offsets already."""
        if self._kept:
            offsets = {**self._kept, **offsets}
        lines = [_VERSION, str(len(offsets))]
        lines += [f"{topic} {partition} {offset}" for (topic, partition), offset in offsets.items()]
        lines.append("")
        text = "\n".join(lines)
        stored = hash(text)
        if stored == self._stored:
            return False
        self._stored = None
        replace_text_file(self.path, text, sync=True)
        self._stored = stored
        return True

    def _parse(self, count: str, lines: list[str]) -> dict[TopicPartition, int]:
        offsets: dict[TopicPartition, int] = {}
        for line in lines:
            try:
                topic, partition, offset = line.split()
                offsets[topic, int(partition)] = int(offset)
            except ValueError:
                raise CheckpointError(f"{self.path} has a malformed line: {line!r}") from None
        if count != str(len(lines)):
            raise CheckpointError(f"{self.path} promises {count} entries and has {len(lines)}")
        return offsets
