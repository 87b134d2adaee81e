"""The requests of a transaction, one function each; errors are raised as what they stand for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from headrace.client.connection import BlockingConnection
from headrace.client.errors import raise_for_code
from headrace.client.groups_offsets import CommittedOffset
from headrace.client.leaders import TopicPartition
from headrace.protocol.messages.add_offsets_to_txn import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
)
from headrace.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from headrace.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from headrace.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from headrace.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)

#: The last versions before the second protocol for transactions (KIP-890), and the first with
#: which a producer can ask for the next epoch of its own (KIP-360).
_INIT_MIN, _INIT_MAX = 3, 5
_ADD_PARTITIONS_MAX = 3
_ADD_OFFSETS_MAX = 3
_COMMIT_OFFSETS_MAX = 4
_END_MAX = 4


def init_producer(
    node: BlockingConnection,
    transactional_id: str,
    timeout_ms: int,
    expected: tuple[int, int] | None,
) -> tuple[int, int]:
    """Producer id and epoch; with `expected`, only if nobody else has asked since."""
    producer_id, epoch = expected or (-1, -1)
    request = InitProducerIdRequest(
        transactional_id=transactional_id,
        transaction_timeout_ms=timeout_ms,
        producer_id=producer_id,
        producer_epoch=epoch,
    )
    version = node.versions.pick(InitProducerIdRequest, _INIT_MIN, _INIT_MAX)
    answer = node.call(request, InitProducerIdResponse, version=version)
    raise_for_code(answer.error_code)
    return answer.producer_id, answer.producer_epoch


def add_partitions(
    node: BlockingConnection,
    transactional_id: str,
    producer: tuple[int, int],
    partitions: Iterable[TopicPartition],
) -> None:
    topics: dict[str, list[int]] = {}
    for topic, index in sorted(partitions):
        topics.setdefault(topic, []).append(index)
    request = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=transactional_id,
        v3_and_below_producer_id=producer[0],
        v3_and_below_producer_epoch=producer[1],
        v3_and_below_topics=[
            AddPartitionsToTxnTopic(name=name, partitions=indexes)
            for name, indexes in topics.items()
        ],
    )
    version = node.versions.pick(AddPartitionsToTxnRequest, high=_ADD_PARTITIONS_MAX)
    answer = node.call(request, AddPartitionsToTxnResponse, version=version)
    for topic_row in answer.results_by_topic_v3_and_below:
        for row in topic_row.results_by_partition:
            raise_for_code(row.partition_error_code)


def add_offsets(
    node: BlockingConnection, transactional_id: str, producer: tuple[int, int], group: str
) -> None:
    request = AddOffsetsToTxnRequest(
        transactional_id=transactional_id,
        producer_id=producer[0],
        producer_epoch=producer[1],
        group_id=group,
    )
    version = node.versions.pick(AddOffsetsToTxnRequest, high=_ADD_OFFSETS_MAX)
    raise_for_code(node.call(request, AddOffsetsToTxnResponse, version=version).error_code)


def commit_offsets(
    node: BlockingConnection,
    transactional_id: str,
    producer: tuple[int, int],
    group: str,
    offsets: Mapping[TopicPartition, CommittedOffset],
) -> None:
    topics: dict[str, list[TxnOffsetCommitRequestPartition]] = {}
    for (topic, index), committed in offsets.items():
        topics.setdefault(topic, []).append(
            TxnOffsetCommitRequestPartition(
                partition_index=index,
                committed_offset=committed.offset,
                committed_leader_epoch=committed.leader_epoch,
                committed_metadata=committed.metadata,
            )
        )
    request = TxnOffsetCommitRequest(
        transactional_id=transactional_id,
        group_id=group,
        producer_id=producer[0],
        producer_epoch=producer[1],
        topics=[TxnOffsetCommitRequestTopic(name=n, partitions=p) for n, p in topics.items()],
    )
    version = node.versions.pick(TxnOffsetCommitRequest, high=_COMMIT_OFFSETS_MAX)
    answer = node.call(request, TxnOffsetCommitResponse, version=version)
    for topic_row in answer.topics:
        for row in topic_row.partitions:
            raise_for_code(row.error_code)


def end(
    node: BlockingConnection, transactional_id: str, producer: tuple[int, int], commit: bool
) -> None:
    request = EndTxnRequest(
        transactional_id=transactional_id,
        producer_id=producer[0],
        producer_epoch=producer[1],
        committed=commit,
    )
    version = node.versions.pick(EndTxnRequest, high=_END_MAX)
    raise_for_code(node.call(request, EndTxnResponse, version=version).error_code)
