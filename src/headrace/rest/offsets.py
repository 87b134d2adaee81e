"""Where partitions begin and end."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from confluent_kafka import TopicPartition
from confluent_kafka.admin import OffsetSpec

from headrace.rest.services import Services

#: The library leaves it untyped.
_specs: Any = OffsetSpec


async def end_offsets(
    services: Services, places: Iterable[tuple[str, int]], spec: Any = None
) -> dict[tuple[str, int], int]:
    """The end of each partition (or its beginning, by `spec`), asked for in one request."""
    spec = spec or _specs.latest()
    wanted = {TopicPartition(*place): spec for place in places}
    if not wanted:
        return {}
    answers = services.ask(
        services.admin.list_offsets, wanted, request_timeout=services.config.client_timeout_s
    )
    found = await asyncio.gather(*(services.answer(future) for future in answers.values()))
    return {
        (place.topic, place.partition): result.offset
        for place, result in zip(answers, found, strict=True)
    }


async def partition_offsets(services: Services, topic: str, partition: int) -> tuple[int, int]:
    """Beginning and end of a partition."""
    place = (topic, partition)
    beginnings = await end_offsets(services, [place], _specs.earliest())
    ends = await end_offsets(services, [place])
    return beginnings[place], ends[place]
