"""Offsets of many partitions, as queries keep them in checkpoints: `{"orders": {"0": 12}}`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from headrace.client.leaders import TopicPartition

#: By partition, as we work with them.
Offsets: TypeAlias = Mapping[TopicPartition, int]
#: By topic and partition, as JSON has them; the form of Spark's own connector.
OffsetJson: TypeAlias = dict[str, dict[str, int]]


def to_json(offsets: Offsets) -> OffsetJson:
    """In a fixed order, so that equal offsets are equal text."""
    loaded: OffsetJson = {}
    for (topic, partition), offset in sorted(offsets.items()):
        loaded.setdefault(topic, {})[str(partition)] = offset
    return loaded


def from_json(loaded: Mapping[str, Mapping[str, int]]) -> dict[TopicPartition, int]:
    return {
        (topic, int(partition)): offset
        for topic, partitions in loaded.items()
        for partition, offset in partitions.items()
    }
