"""What clients send to a consumer instance, checked."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from headrace.rest.errors import illegal_state, invalid

_OFFSET_MAX = (1 << 63) - 1
_PARTITION_MAX = (1 << 31) - 1

Place = tuple[str, int]


def read_subscription(body: dict[str, Any]) -> list[str]:
    """Topics by name, or one pattern, which librdkafka takes with a `^` in front."""
    topics, pattern = body.get("topics"), body.get("topic_pattern")
    if topics is not None and pattern is not None:
        raise illegal_state("Subscription to topics, partitions and pattern are mutually exclusive")
    if isinstance(pattern, str) and pattern:
        return [pattern if pattern.startswith("^") else f"^({pattern})$"]
    if not isinstance(topics, list) or not topics or not all(_is_name(one) for one in topics):
        raise invalid("topics must be a list of names, or topic_pattern a text.")
    return topics


def read_partitions(body: dict[str, Any]) -> list[Place]:
    return [_place(item) for item in _items(body, "partitions")]


def read_positions(body: dict[str, Any]) -> tuple[dict[Place, int], dict[Place, int]]:
    """Offsets, and times in milliseconds."""
    offsets = {
        _place(item): _number(item, "offset", _OFFSET_MAX)
        for item in _items(body, "offsets", optional=True)
    }
    times = {_place(item): _time(item) for item in _items(body, "timestamps", optional=True)}
    if not offsets and not times:
        raise invalid("offsets or timestamps must say where to go.")
    return offsets, times


def read_commits(body: dict[str, Any]) -> list[tuple[str, int, int, str | None]] | None:
    """None: everything that was read."""
    if "offsets" not in body:
        return None
    commits = []
    for item in _items(body, "offsets"):
        metadata = item.get("metadata")
        if metadata is not None and not isinstance(metadata, str):
            raise invalid("metadata must be a text.")
        commits.append((*_place(item), _number(item, "offset", _OFFSET_MAX), metadata))
    return commits


def _items(body: dict[str, Any], name: str, *, optional: bool = False) -> list[dict[str, Any]]:
    items = body.get(name)
    if items is None and optional:
        return []
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise invalid(f"{name} must be a list of JSON objects.")
    return items


def _place(item: dict[str, Any]) -> Place:
    topic = item.get("topic")
    if not isinstance(topic, str) or not _is_name(topic):
        raise invalid("topic must be the name of a topic.")
    return topic, _number(item, "partition", _PARTITION_MAX)


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and bool(value) and "\0" not in value


def _number(item: dict[str, Any], name: str, largest: int) -> int:
    value = item.get(name)
    if type(value) is not int or not 0 <= value <= largest:
        raise invalid(f"{name} must be a number from 0 on.")
    return value


def _time(item: dict[str, Any]) -> int:
    value = item.get("timestamp")
    if type(value) is int and 0 <= value <= _OFFSET_MAX:
        return value
    try:
        return int(datetime.fromisoformat(str(value)).timestamp() * 1000)
    except (ValueError, OverflowError):
        raise invalid("timestamp must be a time like 2026-01-31T12:00:00Z.") from None
