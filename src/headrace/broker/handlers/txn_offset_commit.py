"""TxnOffsetCommit: a group's offsets that count if the producer's transaction is committed.

Since version 5 the partition of the group joins the transaction by itself (KIP-890).
"""

from __future__ import annotations

from typing import Any

from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker.authorization import Operation, ResourceType
from headrace.broker.cluster_view import ClusterView
from headrace.broker.context import RequestContext
from headrace.broker.coordination.admission import Admission, Protocol
from headrace.broker.coordination.groups import Groups, require_group, send
from headrace.broker.coordination.transactions import may_write
from headrace.broker.parked import Parked
from headrace.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from headrace.transactions.requests import PartitionErrors
from headrace.transactions.transaction import ProducerIdentity, TopicPartition

_KNOWS_LOADING_SINCE = 2
_ABORTABLE_SINCE = 4
_IMPLICIT_SINCE = 5


class TxnOffsetCommitHandler:
    """Serves API key 28."""

    def __init__(self, groups: Groups, admission: Admission, cluster: ClusterView) -> None:
        self._groups = groups
        self._admission = admission
        self._cluster = cluster

    def __call__(
        self, context: RequestContext, request: TxnOffsetCommitRequest
    ) -> TxnOffsetCommitResponse | Parked:
        if not may_write(context, request.transactional_id):
            raise KafkaError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
        require_group(context, Operation.READ, request.group_id)
        refused: list[TxnOffsetCommitResponseTopic] = []
        asked = request.topics
        request.topics = [one for one in asked if self._is_accepted(context, one, refused)]
        if not request.topics:
            return TxnOffsetCommitResponse(topics=refused)
        parked = Parked()

        def answer(reply: Any) -> None:
            if isinstance(reply, KafkaError):
                code = _for_version(reply.code, context.api_version)
                topics = [_answer(one.name, _indexes(one), code) for one in request.topics]
                reply = TxnOffsetCommitResponse(topics=topics)
            _join(reply.topics, refused)
            parked.complete(reply)

        self._commit(context, request, answer)
        return parked

    def _commit(
        self, context: RequestContext, request: TxnOffsetCommitRequest, answer: Any
    ) -> None:
        """Join the transaction, then hand over to the group's coordinator at once."""
        producer = ProducerIdentity(request.producer_id, request.producer_epoch)
        protocol = _protocol(context.api_version)
        try:
            if not request.group_id:
                raise KafkaError(ErrorCode.INVALID_GROUP_ID)
            shard = self._groups.coordinators.shard_for(request.group_id)
            if not self._admission.is_needed(shard.partition, producer, protocol):
                send(shard, context, request, answer)
                return
        except KafkaError as error:
            answer(error)
            return
        at = TopicPartition(shard.partition.topic, shard.partition.index)

        def answered(errors: PartitionErrors) -> None:
            if errors:
                answer(KafkaError(errors[at]))
            else:
                self._groups.tell(context, request.group_id, request, answer)

        self._admission.ask(request.transactional_id, producer, frozenset({at}), protocol, answered)

    def _is_accepted(
        self,
        context: RequestContext,
        topic: TxnOffsetCommitRequestTopic,
        refused: list[TxnOffsetCommitResponseTopic],
    ) -> bool:
        """Whether something of a topic is left to commit; what is not goes to `refused`."""
        if not context.allows(Operation.READ, ResourceType.TOPIC, topic.name):
            code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            refused.append(_answer(topic.name, _indexes(topic), code))
            return False
        image = self._cluster.image
        known = [
            one
            for one in topic.partitions
            if image.partition(topic.name, one.partition_index) is not None
        ]
        if len(known) < len(topic.partitions):
            unknown = [one.partition_index for one in topic.partitions if one not in known]
            code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            refused.append(_answer(topic.name, unknown, code))
            topic.partitions = known
        return bool(known)


def _protocol(version: int) -> Protocol:
    if version >= _IMPLICIT_SINCE:
        return Protocol.IMPLICIT
    return Protocol.ABORTABLE if version >= _ABORTABLE_SINCE else Protocol.FIRST


def _for_version(code: ErrorCode, version: int) -> ErrorCode:
    """The first transactional producers could not bear to hear that a coordinator loads."""
    if code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS and version < _KNOWS_LOADING_SINCE:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    return code


def _indexes(topic: TxnOffsetCommitRequestTopic) -> list[int]:
    return [one.partition_index for one in topic.partitions]


def _answer(name: str, indexes: list[int], code: ErrorCode) -> TxnOffsetCommitResponseTopic:
    return TxnOffsetCommitResponseTopic(
        name=name,
        partitions=[
            TxnOffsetCommitResponsePartition(partition_index=index, error_code=int(code))
            for index in indexes
        ],
    )


def _join(
    topics: list[TxnOffsetCommitResponseTopic], refused: list[TxnOffsetCommitResponseTopic]
) -> None:
    """Put the refused partitions of a topic beside those that were committed."""
    by_name = {topic.name: topic for topic in topics}
    for topic in refused:
        known = by_name.get(topic.name)
        if known is None:
            topics.append(topic)
        else:
            known.partitions += topic.partitions
