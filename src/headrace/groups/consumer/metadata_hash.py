"""A number that changes when the topics of a group change: ids, partition counts, racks.

Kafka keeps it in the group's record since 4.1, so that a coordinator can tell after a restart
whether the target assignment still fits. The recipe is Kafka's: XXH3 with 64 bits over the bytes
that hash4j would feed, numbers little-endian, strings as UTF-16 with their length behind them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

from headrace.groups.topics import Topics, TopicView

_INT = struct.Struct("<i")
_MAGIC = b"\0"
_SIGN = 1 << 63


class MetadataHashes:
    """Hashes of topics, remembered until the topic changes."""

    def __init__(self, topics: Topics) -> None:
        self._topics = topics
        self._by_topic: dict[str, int] = {}

    def forget(self, topic: str) -> None:
        self._by_topic.pop(topic, None)

    def of_group(self, names: Iterable[str]) -> int:
        """The hash of a group that reads these topics, as far as they exist."""
        hashes = []
        for name in sorted(names, key=_java_order):
            known = self._by_topic.get(name)
            if known is None:
                view = self._topics.named(name)
                if view is None:
                    continue
                known = self._by_topic[name] = topic_hash(view, self._topics.racks(name))
            hashes.append(known)
        return _xxh3(struct.pack(f"<{len(hashes)}q", *hashes)) if hashes else 0


def topic_hash(topic: TopicView, racks: Sequence[Iterable[str]]) -> int:
    """Of one topic; racks by partition."""
    parts = [
        _MAGIC,
        # Kafka feeds the id as two numbers, and numbers are little-endian.
        topic.topic_id[7::-1],
        topic.topic_id[:7:-1],
        _string(topic.name),
        _INT.pack(topic.partition_count),
    ]
    for partition in range(topic.partition_count):
        parts.append(_INT.pack(partition))
        parts.extend(
            _INT.pack(_length(rack)) + _string(rack)
            for rack in sorted(racks[partition], key=_java_order)
        )
    return _xxh3(b"".join(parts))


def _string(text: str) -> bytes:
    return text.encode("utf-16-le", "surrogatepass") + _INT.pack(_length(text))


def _length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def _java_order(text: str) -> bytes:
    """Java compares strings by their UTF-16 units."""
    return text.encode("utf-16-be", "surrogatepass")


def _xxh3(data: bytes) -> int:
    # Imported at first use: most nodes never see a consumer group.
    import xxhash

    value = xxhash.xxh3_64_intdigest(data)
    return value - (1 << 64) if value & _SIGN else value
