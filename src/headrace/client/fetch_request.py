"""The Fetch request of our own readers: partitions by the names of their topics, no session."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headrace.client.connection import BlockingConnection
from headrace.client.leaders import TopicPartition
from headrace.client.resetting import ResetPolicy
from headrace.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic

#: The last version that names topics; later ones need their ids.
_BY_NAME_MAX = 12


@dataclass(frozen=True, slots=True)
class FetchConfig:
    """The names are those of Kafka's consumer settings."""

    max_wait_ms: int = 500
    min_bytes: int = 1
    max_bytes: int = 50 * 1024 * 1024
    partition_max_bytes: int = 1024 * 1024
    read_committed: bool = False
    #: Where to go on when an offset is gone.
    reset_to: ResetPolicy = None


def post_fetch(
    connection: BlockingConnection,
    positions: Mapping[TopicPartition, int],
    config: FetchConfig,
    wait_ms: int | None = None,
) -> None:
    """Ask the leader of these partitions for what lies there; the connection gets the answer."""
    topics: dict[str, list[FetchPartition]] = {}
    for (topic, index), position in positions.items():
        topics.setdefault(topic, []).append(
            FetchPartition(
                partition=index,
                fetch_offset=position,
                partition_max_bytes=config.partition_max_bytes,
            )
        )
    request = FetchRequest(
        max_wait_ms=config.max_wait_ms if wait_ms is None else wait_ms,
        min_bytes=config.min_bytes,
        max_bytes=config.max_bytes,
        isolation_level=int(config.read_committed),
        topics=[FetchTopic(topic=name, partitions=rows) for name, rows in topics.items()],
    )
    connection.post(request, version=connection.versions.pick(FetchRequest, high=_BY_NAME_MAX))
