"""The topics of a write and their partitions, as a task of the sink knows them.

Every partition of every topic that was seen has a number, its target, in the order of sight.
"""

from __future__ import annotations

import random
import time

import numpy as np

from headrace.base.errors import ErrorCode
from headrace.client.blocking import KafkaClient
from headrace.client.errors import error_for_code
from headrace.client.leaders import TopicPartition
from headrace.client.metadata import NOT_READY, ask_topics
from headrace.records.open_batches import Int64s
from headrace.spark.errors import PipelineError

#: A topic that was just made is known everywhere by then; one that is still unknown does not exist.
_UNKNOWN_MS = 5_000


class TopicTable:
    """Topics by number, targets by number, and the sticky partition of each topic."""

    def __init__(self, client: KafkaClient, max_block_ms: int) -> None:
        self._client = client
        self._max_block_ms = max_block_ms
        self._numbers: dict[str, int] = {}
        self.names: list[str] = []
        #: What each target stands for.
        self.partitions: list[TopicPartition] = []
        self.first_targets: Int64s = np.zeros(0, np.int64)
        self.partition_counts: Int64s = np.zeros(0, np.int64)
        #: The target that rows without a key go to now, by topic.
        self.sticky: Int64s = np.zeros(0, np.int64)

    def number(self, topic: str) -> int:
        """A topic's number; the first time the cluster is asked for its partitions."""
        found = self._numbers.get(topic)
        if found is not None:
            return found
        count = self._find(topic)
        number = self._numbers[topic] = len(self.names)
        first = len(self.partitions)
        self.names.append(topic)
        self.partitions += [(topic, index) for index in range(count)]
        self.first_targets = np.append(self.first_targets, first)
        self.partition_counts = np.append(self.partition_counts, count)
        self.sticky = np.append(self.sticky, first)
        self.move_sticky(number)
        return number

    def move_sticky(self, topic: int) -> None:
        """Let another partition have the rows without a key (KIP-480)."""
        count, first = int(self.partition_counts[topic]), int(self.first_targets[topic])
        now = int(self.sticky[topic]) - first
        if count > 1:
            others = [index for index in range(count) if index != now]
            self.sticky[topic] = first + random.choice(others)

    def topic_of(self, target: int) -> int:
        """The number of a target's topic."""
        return int(np.searchsorted(self.first_targets, target, side="right")) - 1

    def _find(self, topic: str) -> int:
        """How many partitions a topic has; it is created if the cluster does that."""
        started = time.monotonic()
        while True:
            answer = self._client.retry(
                lambda: ask_topics(self._client.any_node(), [topic], create=True)
            )
            (row,) = answer.topics
            if row.error_code == ErrorCode.NONE and row.partitions:
                return len(row.partitions)
            if row.error_code and row.error_code not in NOT_READY:
                code = error_for_code(row.error_code).code.name
                raise PipelineError(f"Topic {topic} cannot be written: {code}.")
            waited_ms = (time.monotonic() - started) * 1000
            unknown = row.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            if waited_ms >= (
                min(_UNKNOWN_MS, self._max_block_ms) if unknown else self._max_block_ms
            ):
                raise PipelineError(
                    f"Topic {topic} does not exist, and the cluster does not create it by itself."
                    if unknown
                    else f"Topic {topic} has no leader after {self._max_block_ms} ms."
                )
            time.sleep(self._client.config.retry_backoff_ms / 1000)
