"""AddPartitionsToTxn: partitions join a transaction, or ask whether they did.

Up to version 3 producers send it, for one transaction. Since version 4 other brokers do, for
several, and may only want to verify (KIP-890).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker.authorization import CLUSTER_NAME, Operation, ResourceType
from headrace.broker.cluster_view import ClusterView
from headrace.broker.context import RequestContext
from headrace.broker.coordination.transactions import Transactions, for_version, may_write
from headrace.broker.parked import Parked
from headrace.metadata.controller.topic_names import INTERNAL_TOPICS
from headrace.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)
from headrace.transactions.requests import AddPartitions
from headrace.transactions.transaction import (
    EPOCH_BUMP_VERSION,
    ProducerIdentity,
    TopicPartition,
)

_KNOWS_FENCED_SINCE = 2
_FROM_BROKERS_SINCE = 4


class AddPartitionsToTxnHandler:
    """Serves API key 24."""

    def __init__(self, transactions: Transactions, cluster: ClusterView) -> None:
        self._transactions = transactions
        self._cluster = cluster

    def __call__(
        self, context: RequestContext, request: AddPartitionsToTxnRequest
    ) -> AddPartitionsToTxnResponse | Parked:
        asked = request.transactions
        if context.api_version < _FROM_BROKERS_SINCE:
            asked = [_of_producer(request)]
        elif not context.allows(Operation.CLUSTER_ACTION, ResourceType.CLUSTER, CLUSTER_NAME):
            code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
            return AddPartitionsToTxnResponse(error_code=int(code))
        parked = Parked()
        results: list[AddPartitionsToTxnResult] = []
        waiting = len(asked) + 1

        def count_down() -> None:
            nonlocal waiting
            waiting -= 1
            if not waiting:
                parked.complete(_response(context, results))

        for transaction in asked:
            self._add(context, transaction, results, count_down)
        count_down()
        return parked

    def _add(
        self,
        context: RequestContext,
        transaction: AddPartitionsToTxnTransaction,
        results: list[AddPartitionsToTxnResult],
        done: Any,
    ) -> None:
        partitions = [
            TopicPartition(topic.name, index)
            for topic in transaction.topics
            for index in topic.partitions
        ]

        def answer(reply: Any) -> None:
            if isinstance(reply, KafkaError):
                code = for_version(reply, context.api_version, _KNOWS_FENCED_SINCE)
                reply = dict.fromkeys(partitions, code)
            results.append(_result(transaction.transactional_id, reply))
            done()

        refused = self._refused(context, transaction.transactional_id, partitions)
        if refused:
            answer(refused)
            return
        is_from_broker = context.api_version >= _FROM_BROKERS_SINCE
        self._transactions.ask(
            AddPartitions(
                transaction.transactional_id,
                ProducerIdentity(transaction.producer_id, transaction.producer_epoch),
                frozenset(partitions),
                client_version=EPOCH_BUMP_VERSION if is_from_broker else 0,
                verify_only=transaction.verify_only,
            ),
            answer,
        )

    def _refused(
        self, context: RequestContext, transactional_id: str, partitions: list[TopicPartition]
    ) -> dict[TopicPartition, ErrorCode]:
        """All partitions are added or none; so with one that cannot be, none is tried."""
        checks_access = context.api_version < _FROM_BROKERS_SINCE
        if checks_access and not may_write(context, transactional_id):
            return dict.fromkeys(partitions, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
        image = self._cluster.image
        errors: dict[TopicPartition, ErrorCode] = {}
        for at in partitions:
            if checks_access and not _may_write_to(context, at.topic):
                errors[at] = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            elif image.partition(at.topic, at.partition) is None:
                errors[at] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if errors:
            for at in partitions:
                errors.setdefault(at, ErrorCode.OPERATION_NOT_ATTEMPTED)
        return errors


def _may_write_to(context: RequestContext, topic: str) -> bool:
    # Internal topics are what coordinators write to; producers join them by other ways.
    return topic not in INTERNAL_TOPICS and context.allows(
        Operation.WRITE, ResourceType.TOPIC, topic
    )


def _of_producer(request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnTransaction:
    return AddPartitionsToTxnTransaction(
        transactional_id=request.v3_and_below_transactional_id,
        producer_id=request.v3_and_below_producer_id,
        producer_epoch=request.v3_and_below_producer_epoch,
        topics=request.v3_and_below_topics,
    )


def _result(
    transactional_id: str, errors: Mapping[TopicPartition, ErrorCode]
) -> AddPartitionsToTxnResult:
    topics: dict[str, AddPartitionsToTxnTopicResult] = {}
    for (name, index), code in sorted(errors.items()):
        topic = topics.setdefault(name, AddPartitionsToTxnTopicResult(name=name))
        topic.results_by_partition.append(
            AddPartitionsToTxnPartitionResult(partition_index=index, partition_error_code=int(code))
        )
    return AddPartitionsToTxnResult(
        transactional_id=transactional_id, topic_results=list(topics.values())
    )


def _response(
    context: RequestContext, results: list[AddPartitionsToTxnResult]
) -> AddPartitionsToTxnResponse:
    if context.api_version >= _FROM_BROKERS_SINCE:
        return AddPartitionsToTxnResponse(results_by_transaction=results)
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=results[0].topic_results)
