"""Where to begin and to end, as a user says it: a word, offsets or timestamps by partition."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from headrace.client.leaders import TopicPartition
from headrace.client.offsets import EARLIEST, LATEST
from headrace.spark.errors import OptionError


@dataclass(frozen=True, slots=True)
class OffsetSpec:
    """A place in each partition: `everywhere` (-2, -1), by offset, or by time.

    In `offsets` -2 and -1 stand for the first and the end.
    """

    everywhere: int | None = None
    offsets: Mapping[TopicPartition, int] = field(default_factory=dict)
    timestamp: int | None = None
    timestamps: Mapping[TopicPartition, int] = field(default_factory=dict)
    #: A time after the last record means the end, instead of an error.
    latest_if_none: bool = False

    def with_strategy(self, *, latest_if_none: bool) -> OffsetSpec:
        is_timed = self.timestamp is not None or bool(self.timestamps)
        return replace(self, latest_if_none=latest_if_none) if is_timed else self


EARLIEST_SPEC = OffsetSpec(everywhere=EARLIEST)
LATEST_SPEC = OffsetSpec(everywhere=LATEST)


def parse_offsets(name: str, text: str) -> OffsetSpec:
    """`earliest`, `latest`, or `{"topic": {"0": 23, "1": -2}}`."""
    word = text.strip().lower()
    if word in ("earliest", "latest"):
        return EARLIEST_SPEC if word == "earliest" else LATEST_SPEC
    offsets = _by_partition(name, text, 'earliest, latest or JSON such as {"orders":{"0":23}}')
    for (topic, partition), offset in offsets.items():
        if offset < EARLIEST:
            raise OptionError(
                f"{name}: {offset} is no offset of {topic}-{partition}"
                " (-2 is the first, -1 the end)."
            )
    return OffsetSpec(offsets=offsets)


def parse_timestamp(name: str, text: str) -> OffsetSpec:
    """One time in milliseconds for all partitions."""
    if not text.strip().isdecimal():
        raise OptionError(f"{name} is a time in milliseconds since 1970, not {text!r}.")
    return OffsetSpec(timestamp=int(text))


def parse_timestamps(name: str, text: str) -> OffsetSpec:
    """Times in milliseconds by partition."""
    times = _by_partition(name, text, 'JSON such as {"orders":{"0":1700000000000}}')
    if any(time < 0 for time in times.values()):
        raise OptionError(f"{name}: a time is in milliseconds since 1970, not negative.")
    return OffsetSpec(timestamps=times)


def parse_assignment(text: str) -> dict[str, tuple[int, ...]]:
    """`{"topicA":[0,1],"topicB":[2,4]}`."""
    wanted = 'assign is JSON such as {"orders":[0,1]}'
    loaded = _load("assign", text, wanted)
    assigned: dict[str, tuple[int, ...]] = {}
    for topic, partitions in loaded.items():
        if not isinstance(partitions, list) or not all(map(_is_index, partitions)):
            raise OptionError(f"{wanted}, not {text!r}.")
        if partitions:
            assigned[topic] = tuple(sorted(set(partitions)))
    if not assigned:
        raise OptionError("Option assign names no partition.")
    return assigned


def _by_partition(name: str, text: str, wanted: str) -> dict[TopicPartition, int]:
    numbers: dict[TopicPartition, int] = {}
    for topic, partitions in _load(name, text, f"{name} is {wanted}").items():
        if not isinstance(partitions, dict):
            raise OptionError(f"{name} is {wanted}, not {text!r}.")
        for partition, number in partitions.items():
            if not partition.isdecimal() or type(number) is not int:
                raise OptionError(f"{name} is {wanted}, not {text!r}.")
            numbers[topic, int(partition)] = number
    return numbers


def _load(name: str, text: str, wanted: str) -> dict[str, Any]:
    try:
        loaded = json.loads(text)
    except ValueError:
        raise OptionError(f"{wanted}, not {text!r}.") from None
    if not isinstance(loaded, dict):
        raise OptionError(f"{wanted}, not {text!r}.")
    return loaded


def _is_index(value: object) -> bool:
    return type(value) is int and value >= 0
