"""What `headrace transactions` asks brokers: coordinators by id, leaders by partition."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.base.errors import ErrorCode, KafkaError
from headrace.cli.failure import CommandFailedError
from headrace.client.blocking import KafkaClient
from headrace.client.connection import BlockingConnection
from headrace.client.errors import error_for_code, raise_for_code
from headrace.client.groups import TRANSACTION, ask_coordinator, ask_coordinators
from headrace.client.leaders import LeaderAnswers, TopicPartition, ask_leaders
from headrace.client.metadata import ask_topics
from headrace.protocol.messages import describe_producers as producers
from headrace.protocol.messages import describe_transactions as transactions
from headrace.protocol.messages import list_transactions as listing
from headrace.protocol.messages import write_txn_markers as markers
from headrace.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)


def list_transactions(
    client: KafkaClient,
    *,
    producer_ids: Sequence[int] = (),
    duration_ms: int | None = None,
    pattern: str | None = None,
) -> dict[int, list[listing.TransactionState]]:
    """The transactional ids of each broker that coordinates some."""
    request = listing.ListTransactionsRequest(
        producer_id_filters=list(producer_ids),
        duration_filter=-1 if duration_ms is None else duration_ms,
        transactional_id_pattern=pattern or None,
    )
    low = 2 if pattern else 1 if duration_ms is not None and duration_ms >= 0 else 0

    def attempt() -> dict[int, list[listing.TransactionState]]:
        found = {}
        for node_id in sorted(client.refresh().nodes):
            node = client.node(node_id)
            version = node.versions.pick(listing.ListTransactionsRequest, low)
            answer = node.call(request, listing.ListTransactionsResponse, version=version)
            raise_for_code(answer.error_code)
            found[node_id] = answer.transaction_states
        return found

    return client.retry(attempt)


def describe_transactions(
    client: KafkaClient, names: Sequence[str]
) -> dict[str, tuple[int, transactions.TransactionState] | KafkaError]:
    """The coordinator and the state of each transactional id."""

    def ask(
        node: BlockingConnection, theirs: list[str]
    ) -> dict[str, tuple[int, transactions.TransactionState] | KafkaError]:
        request = transactions.DescribeTransactionsRequest(transactional_ids=theirs)
        answer = node.call(request, transactions.DescribeTransactionsResponse)
        node_id = _id_of(client, node)
        return {
            row.transactional_id: error_for_code(row.error_code)
            if row.error_code
            else (node_id, row)
            for row in answer.transaction_states
        }

    if not names:
        return {}
    return ask_coordinators(client, names, ask, key_type=TRANSACTION)


def _id_of(client: KafkaClient, connection: BlockingConnection) -> int:
    for node in client.cluster().nodes.values():
        if (node.host, node.port) == connection.address:
            return node.node_id
    return -1


def describe_producers(
    client: KafkaClient, partitions: Sequence[TopicPartition], *, broker_id: int | None = None
) -> dict[TopicPartition, list[producers.ProducerState] | KafkaError]:
    """The producers that the leader of each partition knows, or one certain replica."""

    def send(
        node: BlockingConnection, theirs: list[TopicPartition]
    ) -> LeaderAnswers[list[producers.ProducerState]]:
        topics: dict[str, list[int]] = {}
        for topic, index in theirs:
            topics.setdefault(topic, []).append(index)
        rows = [producers.TopicRequest(name=t, partition_indexes=p) for t, p in topics.items()]
        request = producers.DescribeProducersRequest(topics=rows)
        answer = node.call(request, producers.DescribeProducersResponse)
        return {
            (topic.name, row.partition_index): (
                row.error_code,
                row.error_message,
                row.active_producers,
            )
            for topic in answer.topics
            for row in topic.partitions
        }

    if broker_id is None:
        return ask_leaders(client, partitions, send)
    found: dict[TopicPartition, list[producers.ProducerState] | KafkaError] = {}
    answers = client.retry(lambda: send(client.node(broker_id), list(partitions)))
    for partition in partitions:
        code, message, active = answers.get(
            partition, (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None, [])
        )
        found[partition] = error_for_code(code, message) if code else active
    return found


def write_abort_marker(
    client: KafkaClient, partition: TopicPartition, producer: producers.ProducerState
) -> None:
    """Let a partition's leader end a producer's transaction as aborted."""
    topic, index = partition
    marker = markers.WritableTxnMarker(
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        transaction_result=False,
        topics=[markers.WritableTxnMarkerTopic(name=topic, partition_indexes=[index])],
        coordinator_epoch=max(producer.coordinator_epoch, 0),
    )

    def send(node: BlockingConnection, _: list[TopicPartition]) -> LeaderAnswers[None]:
        request = markers.WriteTxnMarkersRequest(markers=[marker])
        answer = node.call(request, markers.WriteTxnMarkersResponse)
        return {
            (found.name, row.partition_index): (row.error_code, None, None)
            for result in answer.markers
            for found in result.topics
            for row in found.partitions
        }

    outcome = ask_leaders(client, [partition], send)[partition]
    if outcome is not None:
        raise outcome


def all_partitions(
    client: KafkaClient, topic: str | None, broker_id: int | None
) -> list[TopicPartition]:
    """The partitions of a topic, or of all, on any broker or one."""
    names = None if topic is None else [topic]
    answer = client.retry(lambda: ask_topics(client.any_node(), names))
    partitions = []
    for row in answer.topics:
        if row.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise CommandFailedError(f"There is no topic {topic}.")
        raise_for_code(row.error_code)
        partitions += [
            (row.name or "", partition.partition_index)
            for partition in row.partitions
            if broker_id is None or broker_id in partition.replica_nodes
        ]
    return partitions


def require_partition(client: KafkaClient, partition: TopicPartition) -> None:
    """Refuse what does not exist; leaders would be waited for, in case they come."""
    topic, index = partition
    if partition not in all_partitions(client, topic, None):
        raise CommandFailedError(f"Topic {topic} has no partition {index}.")


def end_transaction_of(client: KafkaClient, name: str) -> None:
    """Fence the producer of a transactional id, which aborts what it has open."""
    request = InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=1)

    def ask(node: BlockingConnection) -> None:
        raise_for_code(node.call(request, InitProducerIdResponse).error_code)

    ask_coordinator(client, name, ask, key_type=TRANSACTION)
