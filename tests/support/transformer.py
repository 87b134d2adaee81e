"""Consume, transform, produce: records of one topic go to another one in transactions."""

import contextlib

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from tests.support.background import Background
from tests.support.committing_member import QUICK_CLIENT
from tests.support.node import Node
from tests.support.stages import Stages

#: The steps of a transaction, each of which a kill may meet.
PRODUCE, SEND_OFFSETS, COMMIT = "produce", "send offsets", "commit transaction"
_PATIENCE_S = 60.0


class Transformer(Background):
    """Copies partition by partition; after any trouble it begins anew, as a restarted one would."""

    def __init__(self, node: Node, group: str, source: str, target: str) -> None:
        super().__init__("transformer")
        self.stages = Stages()
        #: By partition: up to where the transactions go that were acknowledged.
        self.acknowledged: dict[int, int] = {}
        self.restarts = 0
        self._node = node
        self._group = group
        self._source = source
        self._target = target

    def finish(self) -> None:
        """Stop between two transactions, and end whatever is still open."""
        self.stop(120)
        self._producer()

    def _producer(self) -> Producer:
        producer = Producer(
            {
                **QUICK_CLIENT,
                "bootstrap.servers": self._node.bootstrap,
                "transactional.id": self._group,
                "linger.ms": 1,
            }
        )
        producer.init_transactions(_PATIENCE_S)
        return producer

    def _consumer(self) -> Consumer:
        consumer = Consumer(
            {
                **QUICK_CLIENT,
                "bootstrap.servers": self._node.bootstrap,
                "group.id": self._group,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "heartbeat.interval.ms": 200,
            }
        )
        consumer.subscribe([self._source])
        return consumer

    def _run(self) -> None:
        while not self._stop.is_set():
            # The dead producer's transaction is over before anybody asks where the group is.
            with contextlib.suppress(KafkaException):
                producer = self._producer()
                consumer = self._consumer()
                try:
                    while not self._stop.is_set():
                        self._transaction(producer, consumer)
                except KafkaException:
                    self.restarts += 1
                finally:
                    consumer.close()

    def _transaction(self, producer: Producer, consumer: Consumer) -> None:
        messages = [one for one in consumer.consume(100, 0.2) if one.error() is None]
        if not messages:
            return
        producer.begin_transaction()
        self.stages.begin(PRODUCE)
        read: dict[int, int] = {}
        for message in messages:
            partition, offset = message.partition(), message.offset()
            assert partition is not None
            assert offset is not None
            producer.produce(self._target, message.value(), partition=partition)
            read[partition] = offset + 1
        offsets = [TopicPartition(self._source, *place) for place in read.items()]
        self.stages.begin(SEND_OFFSETS)
        producer.send_offsets_to_transaction(
            offsets, consumer.consumer_group_metadata(), _PATIENCE_S
        )
        self.stages.begin(COMMIT)
        producer.commit_transaction(_PATIENCE_S)
        self.acknowledged.update(read)
