"""Records of an embedded node: sent and read in one call, through the protocol."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from headrace.base.errors import ErrorCode, KafkaError
from headrace.client.blocking import KafkaClient
from headrace.client.fetch_request import FetchConfig
from headrace.client.fetching import PartitionReader
from headrace.client.leaders import find_leaders
from headrace.client.offsets import EARLIEST, list_offsets, require_offsets
from headrace.client.producing import ProducerConfig, RecordSender
from headrace.records.record import Record

_POLL_MS = 100


def produce(
    client: KafkaClient,
    topic: str,
    values: Iterable[bytes | str | None],
    keys: Sequence[bytes | str | None] | None,
) -> None:
    """Send records and wait until all are acknowledged; raises the first refusal."""
    rows = list(values)
    if keys is not None and len(keys) != len(rows):
        raise ValueError(f"{len(rows)} values cannot have {len(keys)} keys.")
    errors: list[KafkaError] = []
    config = ProducerConfig(max_block_ms=10_000)
    sender = RecordSender(client, topic, config, lambda _records, error: errors.append(error))
    sender.start()
    now_ms = time.time_ns() // 1_000_000
    for number, value in enumerate(rows):
        key = None if keys is None else _bytes(keys[number])
        sender.send(key, _bytes(value), timestamp=now_ms)
    sender.flush()
    if errors:
        raise errors[0]


def consume(
    client: KafkaClient, topic: str, count: int, *, read_committed: bool, timeout_s: float
) -> list[Record]:
    """The first records of a topic, partition by partition as they arrive, without a group."""
    partitions = [tp for tp in find_leaders(client, [topic]) if tp[0] == topic]
    if not partitions:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"There is no topic {topic}.")
    reader = PartitionReader(client, FetchConfig(read_committed=read_committed, reset_to=EARLIEST))
    reader.assign(require_offsets(list_offsets(client, dict.fromkeys(partitions, EARLIEST))))
    found: list[Record] = []
    deadline = time.monotonic() + timeout_s
    while len(found) < count:
        for batch in reader.poll(_POLL_MS):
            if batch.error is not None:
                raise batch.error
            found += batch.records
        if len(found) < count and time.monotonic() >= deadline:
            raise TimeoutError(
                f"{topic} had {len(found)} of {count} records after {timeout_s:g} s."
            )
    return found[:count]


def _bytes(data: bytes | str | None) -> bytes | None:
    return data.encode() if isinstance(data, str) else data
