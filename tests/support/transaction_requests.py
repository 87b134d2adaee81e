"""The requests of a conversation about transactions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headrace.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from headrace.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from headrace.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from headrace.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from headrace.protocol.messages.describe_transactions import DescribeTransactionsRequest
from headrace.protocol.messages.end_txn import EndTxnRequest
from headrace.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from headrace.protocol.messages.find_coordinator import FindCoordinatorRequest
from headrace.protocol.messages.init_producer_id import InitProducerIdRequest
from headrace.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from headrace.protocol.messages.list_transactions import ListTransactionsRequest
from headrace.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from headrace.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from headrace.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from headrace.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from headrace.records.builder import build_batch
from headrace.records.record import Record
from headrace.transactions.transaction import ProducerIdentity, TopicPartition


def topic(name: str, partitions: int) -> CreateTopicsRequest:
    wanted = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
    return CreateTopicsRequest(topics=[wanted], timeout_ms=10_000)


def find(kind: int, key: str) -> FindCoordinatorRequest:
    return FindCoordinatorRequest(key_type=kind, coordinator_keys=[key])


def init(id_: str, timeout_ms: int, expected: ProducerIdentity) -> InitProducerIdRequest:
    return InitProducerIdRequest(
        transactional_id=id_,
        transaction_timeout_ms=timeout_ms,
        producer_id=expected.producer_id,
        producer_epoch=expected.producer_epoch,
    )


def add(
    id_: str,
    producer: ProducerIdentity,
    places: Sequence[TopicPartition],
    version: int,
    verify: bool,
) -> AddPartitionsToTxnRequest:
    topics = [
        AddPartitionsToTxnTopic(
            name=name, partitions=[at.partition for at in places if at.topic == name]
        )
        for name in dict.fromkeys(at.topic for at in places)
    ]
    if version < 4:
        return AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=id_,
            v3_and_below_producer_id=producer.producer_id,
            v3_and_below_producer_epoch=producer.producer_epoch,
            v3_and_below_topics=topics,
        )
    return AddPartitionsToTxnRequest(
        transactions=[
            AddPartitionsToTxnTransaction(
                transactional_id=id_,
                producer_id=producer.producer_id,
                producer_epoch=producer.producer_epoch,
                verify_only=verify,
                topics=topics,
            )
        ]
    )


def produce(
    id_: str | None,
    producer: ProducerIdentity,
    at: TopicPartition,
    sequence: int,
    values: Sequence[str],
    now_ms: int,
) -> ProduceRequest:
    batch = build_batch(
        [Record(offset, now_ms, None, text.encode()) for offset, text in enumerate(values)],
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        base_sequence=sequence,
        transactional=True,
    )
    data = PartitionProduceData(index=at.partition, records=bytes(batch))
    return ProduceRequest(
        transactional_id=id_,
        acks=-1,
        timeout_ms=10_000,
        topic_data=[TopicProduceData(name=at.topic, partition_data=[data])],
    )


def end(id_: str, producer: ProducerIdentity, committed: bool) -> EndTxnRequest:
    return EndTxnRequest(
        transactional_id=id_,
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        committed=committed,
    )


def add_offsets(id_: str, group: str, producer: ProducerIdentity) -> AddOffsetsToTxnRequest:
    return AddOffsetsToTxnRequest(
        transactional_id=id_,
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        group_id=group,
    )


def offsets(
    id_: str, group: str, producer: ProducerIdentity, given: Mapping[TopicPartition, int]
) -> TxnOffsetCommitRequest:
    return TxnOffsetCommitRequest(
        transactional_id=id_,
        group_id=group,
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        topics=[
            TxnOffsetCommitRequestTopic(
                name=at.topic,
                partitions=[
                    TxnOffsetCommitRequestPartition(
                        partition_index=at.partition,
                        committed_offset=offset,
                        committed_metadata="m",
                    )
                ],
            )
            for at, offset in given.items()
        ],
    )


def committed(group: str, at: TopicPartition, stable: bool) -> OffsetFetchRequest:
    topics = [OffsetFetchRequestTopics(name=at.topic, partition_indexes=[at.partition])]
    asked = OffsetFetchRequestGroup(group_id=group, topics=topics)
    return OffsetFetchRequest(groups=[asked], require_stable=stable)


def fetch(at: TopicPartition) -> FetchRequest:
    wanted = FetchPartition(partition=at.partition, fetch_offset=0, partition_max_bytes=1 << 20)
    return FetchRequest(
        max_wait_ms=0,
        min_bytes=0,
        isolation_level=1,
        topics=[FetchTopic(topic=at.topic, partitions=[wanted])],
    )


def end_offset(at: TopicPartition, isolation_level: int) -> ListOffsetsRequest:
    wanted = ListOffsetsPartition(partition_index=at.partition, timestamp=-1)
    return ListOffsetsRequest(
        replica_id=-1,
        isolation_level=isolation_level,
        topics=[ListOffsetsTopic(name=at.topic, partitions=[wanted])],
    )


def markers(commit: bool, producer: ProducerIdentity, at: TopicPartition) -> WriteTxnMarkersRequest:
    return WriteTxnMarkersRequest(
        markers=[
            WritableTxnMarker(
                producer_id=producer.producer_id,
                producer_epoch=producer.producer_epoch,
                transaction_result=commit,
                topics=[WritableTxnMarkerTopic(name=at.topic, partition_indexes=[at.partition])],
                coordinator_epoch=0,
                transaction_version=2,
            )
        ]
    )


def describe(id_: str) -> DescribeTransactionsRequest:
    return DescribeTransactionsRequest(transactional_ids=[id_])


def listing(states: Sequence[str]) -> ListTransactionsRequest:
    return ListTransactionsRequest(state_filters=list(states))


def producers(at: TopicPartition) -> DescribeProducersRequest:
    wanted = TopicRequest(name=at.topic, partition_indexes=[at.partition])
    return DescribeProducersRequest(topics=[wanted])
