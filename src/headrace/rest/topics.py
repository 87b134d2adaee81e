"""Which topics and partitions there are, as far as producing has to know."""

from __future__ import annotations

import asyncio
import time

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from headrace.rest.errors import partition_not_found, topic_not_found
from headrace.rest.kafka_errors import from_kafka

#: A topic may be deleted or grow; its partitions are asked for again after so long.
_KNOWN_SECONDS = 10.0
_TOPICS_MAX = 10_000
_NO_TOPIC = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC)


class TopicPartitions:
    """Numbers of partitions, remembered for some seconds."""

    def __init__(self, admin: AdminClient, timeout_s: float) -> None:
        self._admin = admin
        self._timeout_s = timeout_s
        self._known: dict[str, tuple[float, int]] = {}

    async def require(self, topic: str) -> int:
        """The number of partitions; 404 with the API's code if there is no such topic."""
        found = self._known.get(topic)
        now = time.monotonic()
        if found is not None and now - found[0] < _KNOWN_SECONDS:
            return found[1]
        count = await asyncio.to_thread(self._ask, topic)
        while len(self._known) >= _TOPICS_MAX:
            del self._known[next(iter(self._known))]
        self._known[topic] = (now, count)
        return count

    async def require_partition(self, topic: str, partition: int) -> None:
        if not 0 <= partition < await self.require(topic):
            raise partition_not_found()

    def forget(self, topic: str) -> None:
        self._known.pop(topic, None)

    def _ask(self, topic: str) -> int:
        try:
            metadata = self._admin.list_topics(topic, self._timeout_s).topics[topic]
        except KafkaException as error:
            raise from_kafka(error) from error
        refused = metadata.error
        if refused is not None:
            if refused.code() in (*_NO_TOPIC, KafkaError.TOPIC_EXCEPTION):
                raise topic_not_found()
            if refused.code() != KafkaError.LEADER_NOT_AVAILABLE:
                raise from_kafka(refused)
        if not metadata.partitions:
            raise topic_not_found()
        return len(metadata.partitions)
