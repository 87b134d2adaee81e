"""What a task of the sink needs of the cluster, kept for the next one in its worker."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from headrace.client.blocking import KafkaClient
from headrace.client.leaders import TopicPartition
from headrace.spark.kept_clients import kept_client
from headrace.spark.sink_options import SinkOptions
from headrace.spark.sink_topics import TopicTable


@dataclass(slots=True)
class Connected:
    """A client with what it has learnt; the plain sink's producer goes on with its sequences."""

    client: KafkaClient
    topics: TopicTable
    producer: tuple[int, int] | None = None
    sequences: dict[TopicPartition, int] = field(default_factory=dict)

    def close(self) -> None:
        self.client.close()


def connected(options: SinkOptions) -> AbstractContextManager[Connected]:
    """A connection for one task."""
    return kept_client(Connected, options.kafka, lambda: _connect(options))


def _connect(options: SinkOptions) -> Connected:
    client = KafkaClient(options.client_config())
    return Connected(client, TopicTable(client, options.max_block_ms))
