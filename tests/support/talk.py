"""Writing and reading records through our own blocking client, in one call each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from headrace.client.blocking import KafkaClient
from headrace.client.config import ClientConfig
from headrace.client.fetch_request import FetchConfig
from headrace.client.fetching import PartitionReader
from headrace.client.offsets import LATEST, list_offsets, require_offsets
from headrace.client.producing import ProducerConfig, RecordSender
from headrace.records.record import Record


@contextmanager
def client_of(bootstrap: str) -> Iterator[KafkaClient]:
    config = ClientConfig.from_settings({"bootstrap.servers": bootstrap})
    with KafkaClient(config) as client:
        yield client


def produce(client: KafkaClient, topic: str, values: Sequence[bytes], timestamp: int = 1) -> None:
    """Send records without keys and wait for their acknowledgement."""
    failures: list[str] = []
    sender = RecordSender(
        client, topic, ProducerConfig(), lambda _, error: failures.append(str(error))
    )
    sender.start()
    for value in values:
        sender.send(None, value, timestamp=timestamp)
    sender.flush()
    assert failures == []


def consume(client: KafkaClient, topic: str, partition: int = 0, start: int = 0) -> list[Record]:
    """Everything from an offset to the end."""
    key = (topic, partition)
    end = require_offsets(list_offsets(client, {key: LATEST}))[key]
    reader = PartitionReader(client, FetchConfig())
    reader.assign({key: start})
    records: list[Record] = []
    while reader.positions[key] < end:
        for batch in reader.poll(1000):
            assert batch.error is None
            records += batch.records
    return records
