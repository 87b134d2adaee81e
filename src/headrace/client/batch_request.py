"""A Produce request made of finished batches, and what its answer says of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headrace.base.errors import ErrorCode, KafkaError
from headrace.client.connection import BlockingConnection
from headrace.client.errors import error_for_code
from headrace.client.leaders import TopicPartition
from headrace.client.send_config import SendConfig
from headrace.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)

#: The last version in which a transaction's partitions are added by a request of their own, and
#: topics have names.
_VERSION_MAX = 11

ACKS_ALL = -1


@dataclass(slots=True, eq=False)
class Batch:
    """A batch for one partition, stamped with its producer and sequence."""

    partition: TopicPartition
    data: bytearray
    count: int


def request_for(
    connection: BlockingConnection, batches: Sequence[Batch], config: SendConfig
) -> tuple[ProduceRequest, int]:
    """The request with these batches, no two for one partition, and its version."""
    topics: dict[str, list[PartitionProduceData]] = {}
    for batch in batches:
        topic, index = batch.partition
        topics.setdefault(topic, []).append(PartitionProduceData(index=index, records=batch.data))
    request = ProduceRequest(
        transactional_id=config.transactional_id,
        acks=ACKS_ALL,
        timeout_ms=config.request_timeout_ms,
        topic_data=[TopicProduceData(name=n, partition_data=d) for n, d in topics.items()],
    )
    return request, connection.versions.pick(ProduceRequest, high=_VERSION_MAX)


def read_answer(
    answer: ProduceResponse, batches: Sequence[Batch]
) -> dict[TopicPartition, KafkaError | None]:
    """What became of each batch: None where the log has it, for the first or the second time."""
    codes = {
        (topic.name, row.index): (row.error_code, row.error_message)
        for topic in answer.responses
        for row in topic.partition_responses
    }
    outcomes: dict[TopicPartition, KafkaError | None] = {}
    for batch in batches:
        code, message = codes.get(batch.partition, (ErrorCode.UNKNOWN_SERVER_ERROR, None))
        if code in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
            outcomes[batch.partition] = None
        else:
            outcomes[batch.partition] = _refused(batch, error_for_code(code, message))
    return outcomes


def _refused(batch: Batch, error: KafkaError) -> KafkaError:
    topic, index = batch.partition
    return KafkaError(
        error.code,
        f"Partition {index} of topic {topic} does not take {batch.count} records:"
        f" {error.code.name}" + (f" ({error.message})" if error.message else "") + ".",
    )
