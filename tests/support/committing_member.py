"""A member of a consumer group that commits all the time, and remembers what was acknowledged."""

from confluent_kafka import Consumer, KafkaException, TopicPartition

from tests.support.background import Background
from tests.support.node import Node
from tests.support.stages import Stages

COMMIT = "commit"
#: A client that comes back quickly, whatever happens to the node.
QUICK_CLIENT: dict[str, str | int | bool] = {
    "reconnect.backoff.ms": 5,
    "reconnect.backoff.max.ms": 30,
    "retry.backoff.ms": 10,
    "topic.metadata.refresh.interval.ms": 500,
    # Or librdkafka may forget the group's coordinator for good, and never send a transaction's
    # offsets to it again.
    "metadata.recovery.strategy": "none",
    "log_level": 0,
}


class CommittingMember(Background):
    """The only member of its group, in a thread of its own."""

    def __init__(self, node: Node, group: str, topic: str) -> None:
        super().__init__(f"member of {group}")
        self.stages = Stages()
        #: By partition: what the node has acknowledged, and what it was asked to store at most.
        self.acknowledged: dict[int, int] = {}
        self.attempted: dict[int, int] = {}
        self._consumer = Consumer(
            {
                **QUICK_CLIENT,
                "bootstrap.servers": node.bootstrap,
                "group.id": group,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "heartbeat.interval.ms": 200,
            }
        )
        self._consumer.subscribe([topic])
        self._topic = topic

    def finish(self) -> None:
        self.stop()
        self._consumer.close()

    def _run(self) -> None:
        while not self._stop.is_set():
            read: dict[int, int] = {}
            for message in self._consumer.consume(20, 0.1):
                partition, offset = message.partition(), message.offset()
                if message.error() is None and partition is not None and offset is not None:
                    read[partition] = offset + 1
            if read:
                self._commit(read)

    def _commit(self, read: dict[int, int]) -> None:
        for partition, offset in read.items():
            self.attempted[partition] = max(offset, self.attempted.get(partition, 0))
        offsets = [TopicPartition(self._topic, *place) for place in read.items()]
        self.stages.begin(COMMIT)
        try:
            stored = self._consumer.commit(offsets=offsets, asynchronous=False) or []
        except KafkaException:
            return  # the next commit is for more
        for one in stored:
            if one.error is None:
                before = self.acknowledged.get(one.partition, 0)
                self.acknowledged[one.partition] = max(one.offset, before)
