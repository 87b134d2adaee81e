"""Where a reader begins when it has no offset, or one that is gone: `auto.offset.reset`."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from headrace.client.blocking import KafkaClient
from headrace.client.leaders import TopicPartition
from headrace.client.offsets import LATEST, UNKNOWN_OFFSET, list_offsets, require_offsets


@dataclass(frozen=True, slots=True)
class ByDuration:
    """`by_duration:PT1H`: so long before the moment of the reset (KIP-1106)."""

    milliseconds: int


#: A special timestamp of ListOffsets (earliest, latest), a duration, or None for an error.
ResetPolicy: TypeAlias = int | ByDuration | None


def reset_positions(
    client: KafkaClient,
    partitions: Iterable[TopicPartition],
    policy: int | ByDuration,
    *,
    read_committed: bool,
) -> dict[TopicPartition, int]:
    """The offsets to begin at.

    Who reads only what is committed finds the end before the oldest open transaction, so that
    its records come once it is over.
    """

    def at(timestamp: int, where: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        wanted = dict.fromkeys(where, timestamp)
        return require_offsets(list_offsets(client, wanted, read_committed=read_committed))

    if not isinstance(policy, ByDuration):
        return at(policy, partitions)
    found = at(max(time.time_ns() // 1_000_000 - policy.milliseconds, 0), partitions)
    # Where no record is that young, the next one to come is the first that is.
    return found | at(LATEST, [tp for tp, offset in found.items() if offset == UNKNOWN_OFFSET])
