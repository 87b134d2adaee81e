"""Lines of words, written without a pause, and how often each word was in them."""

import random
from collections import Counter

from confluent_kafka import KafkaError, Message, Producer

from tests.support.background import Background
from tests.support.node import Node

_WORDS = [f"word{number}" for number in range(40)]
_WORDS_PER_LINE = 4
#: A line every few milliseconds, so that whoever counts is always in the middle of it.
_LINES_PER_TURN = 5
_TURN_SECONDS = 0.01


class WordFeed(Background):
    """An idempotent producer in a thread of its own, which outlives the death of the node."""

    def __init__(self, node: Node, topic: str, partitions: int) -> None:
        super().__init__(f"feed of {topic}")
        self._topic = topic
        self._partitions = partitions
        self._random = random.Random(topic)
        self._counts: Counter[str] = Counter()
        self._failed: list[str] = []
        self._producer = Producer(
            {
                "bootstrap.servers": node.bootstrap,
                "enable.idempotence": True,
                "message.timeout.ms": 120_000,
                "reconnect.backoff.max.ms": 100,
                "log_level": 0,
            }
        )

    def finish(self) -> Counter[str]:
        """Write no more; how often each word was written, every line acknowledged."""
        self.stop()
        assert self._producer.flush(60) == 0
        assert self._failed == []
        return self._counts

    def _run(self) -> None:
        while not self._stop.wait(_TURN_SECONDS):
            for _ in range(_LINES_PER_TURN):
                self._send()
            self._producer.poll(0)

    def _send(self) -> None:
        words = self._random.choices(_WORDS, k=_WORDS_PER_LINE)
        self._counts.update(words)
        partition = self._random.randrange(self._partitions)
        self._producer.produce(
            self._topic, " ".join(words), partition=partition, on_delivery=self._delivered
        )

    def _delivered(self, error: KafkaError | None, _message: Message) -> None:
        if error is not None:
            self._failed.append(str(error))
