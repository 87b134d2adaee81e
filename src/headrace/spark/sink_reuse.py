"""Connections that outlive a task: the next one in the same Python worker finds them ready.

Micro-batches are short, and Spark keeps its Python workers: a task that had to connect, ask for the
topic's leaders and get a producer id each time would spend most of its time on that. An entry is
used by one task at a time, is dropped after any error, and is made anew when its view of the
cluster has become old.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from headrace.client.blocking import KafkaClient
from headrace.client.leaders import TopicPartition
from headrace.spark.sink_options import SinkOptions
from headrace.spark.sink_topics import TopicTable

#: As a producer's metadata.max.age.ms: new partitions of a topic are seen after this at the latest.
_AGE_S_MAX = 300.0

_Key = tuple[int, tuple[tuple[str, str], ...]]
_idle: dict[_Key, Connected] = {}


@dataclass(slots=True)
class Connected:
    """A client with what it has learnt; the plain sink's producer goes on with its sequences."""

    client: KafkaClient
    topics: TopicTable
    producer: tuple[int, int] | None = None
    sequences: dict[TopicPartition, int] = field(default_factory=dict)
    made_at: float = field(default_factory=time.monotonic)


@contextmanager
def connected(options: SinkOptions) -> Iterator[Connected]:
    """A connection for one task."""
    key = (os.getpid(), tuple(sorted(options.kafka.items())))
    found = _idle.pop(key, None)
    if found is not None and time.monotonic() - found.made_at > _AGE_S_MAX:
        found.client.close()
        found = None
    if found is None:
        client = KafkaClient(options.client_config())
        found = Connected(client, TopicTable(client, options.max_block_ms))
    try:
        yield found
    except BaseException:
        found.client.close()
        raise
    replaced, _idle[key] = _idle.get(key), found
    if replaced is not None:
        replaced.client.close()


def forget() -> None:
    """Close what is idle."""
    while _idle:
        _, found = _idle.popitem()
        found.client.close()
