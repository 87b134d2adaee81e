"""Metadata: the brokers, and where the partitions of topics are. Creates topics on first use."""

from __future__ import annotations

from collections.abc import Callable

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.uuids import ZERO_UUID
from headrace.broker.authorization import Operation, ResourceType
from headrace.broker.cluster_view import ClusterView
from headrace.broker.config import BrokerConfig
from headrace.broker.context import RequestContext
from headrace.broker.offline_replicas import offline_replicas
from headrace.broker.parked import Parked
from headrace.metadata.controller.topic_names import INTERNAL_TOPICS, check_topic_name
from headrace.metadata.image import MetadataImage, PartitionImage, TopicImage
from headrace.protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

#: Creates topics with the broker's defaults; then the callback gets the errors, by topic name.
AutoCreate = Callable[[list[str], Callable[[dict[str, KafkaError]], None]], None]


class MetadataHandler:
    """Serves API key 3."""

    def __init__(self, cluster: ClusterView, config: BrokerConfig, auto_create: AutoCreate) -> None:
        self._cluster = cluster
        self._config = config
        self._auto_create = auto_create

    def __call__(
        self, context: RequestContext, request: MetadataRequest
    ) -> MetadataResponse | Parked:
        missing = self._creatable(context, request)
        if not missing:
            return self._answer(context, request, {})
        parked = Parked()

        def created(errors: dict[str, KafkaError]) -> None:
            parked.complete(self._answer(context, request, errors))

        self._auto_create(missing, created)
        return parked

    def _creatable(self, context: RequestContext, request: MetadataRequest) -> list[str]:
        """Topics that the client asks for, that do not exist, and that it may bring about."""
        if not (self._config.auto_create_topics and request.allow_auto_topic_creation):
            return []
        known = self._cluster.image.topics_by_name
        names = []
        for topic in request.topics or ():
            name = topic.name
            if not name or name in known or name in names:
                continue
            try:
                check_topic_name(name)
            except KafkaError:
                continue
            if context.allows(Operation.CREATE, ResourceType.TOPIC, name):
                names.append(name)
        return names

    def _answer(
        self, context: RequestContext, request: MetadataRequest, errors: dict[str, KafkaError]
    ) -> MetadataResponse:
        image = self._cluster.image
        brokers = self._cluster.brokers(context)
        response = MetadataResponse(
            brokers=[
                MetadataResponseBroker(node_id=b.node_id, host=b.host, port=b.port, rack=b.rack)
                for b in brokers
            ],
            cluster_id=self._cluster.cluster_id,
            # Any broker will do: it forwards to the real controller (KIP-590).
            controller_id=brokers[0].node_id if brokers else -1,
            topics=self._topics(context, request, image, errors),
        )
        if request.include_cluster_authorized_operations:
            response.cluster_authorized_operations = context.authorized_operations(
                ResourceType.CLUSTER
            )
        return response

    def _topics(
        self,
        context: RequestContext,
        request: MetadataRequest,
        image: MetadataImage,
        errors: dict[str, KafkaError],
    ) -> list[MetadataResponseTopic]:
        wants_operations = request.include_topic_authorized_operations
        if request.topics is None or (context.api_version == 0 and not request.topics):
            return [
                self._topic(context, topic, image, wants_operations)
                for topic in image.topics_by_name.values()
                if context.allows(Operation.DESCRIBE, ResourceType.TOPIC, topic.name)
            ]
        answers = []
        for asked in request.topics:
            topic = self._find(asked.name, asked.topic_id, image)
            if topic is None:
                answers.append(_unknown(asked.name, asked.topic_id, errors))
            elif not context.allows(Operation.DESCRIBE, ResourceType.TOPIC, topic.name):
                answers.append(
                    MetadataResponseTopic(
                        name=asked.name, error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED
                    )
                )
            else:
                answers.append(self._topic(context, topic, image, wants_operations))
        return answers

    @staticmethod
    def _find(name: str | None, topic_id: bytes, image: MetadataImage) -> TopicImage | None:
        if name is not None:
            return image.topics_by_name.get(name)
        return image.topics_by_id.get(topic_id)

    def _topic(
        self,
        context: RequestContext,
        topic: TopicImage,
        image: MetadataImage,
        wants_operations: bool,
    ) -> MetadataResponseTopic:
        answer = MetadataResponseTopic(
            name=topic.name,
            topic_id=topic.topic_id,
            is_internal=topic.name in INTERNAL_TOPICS,
            partitions=[
                _partition(index, partition, image)
                for index, partition in enumerate(topic.partitions)
            ],
        )
        if wants_operations:
            answer.topic_authorized_operations = context.authorized_operations(
                ResourceType.TOPIC, topic.name
            )
        return answer


def _partition(
    index: int, partition: PartitionImage, image: MetadataImage
) -> MetadataResponsePartition:
    leader = image.brokers.get(partition.leader)
    has_leader = leader is not None and not leader.fenced
    return MetadataResponsePartition(
        error_code=ErrorCode.NONE if has_leader else ErrorCode.LEADER_NOT_AVAILABLE,
        partition_index=index,
        leader_id=partition.leader if has_leader else -1,
        leader_epoch=partition.leader_epoch,
        replica_nodes=list(partition.replicas),
        isr_nodes=list(partition.isr),
        offline_replicas=offline_replicas(partition, image),
    )


def _unknown(
    name: str | None, topic_id: bytes, errors: dict[str, KafkaError]
) -> MetadataResponseTopic:
    if name is None:
        code = ErrorCode.UNKNOWN_TOPIC_ID
        if topic_id == ZERO_UUID:
            code = ErrorCode.INVALID_REQUEST
        return MetadataResponseTopic(name=None, topic_id=topic_id, error_code=code)
    if name in errors:
        return MetadataResponseTopic(name=name, error_code=int(errors[name].code))
    try:
        check_topic_name(name)
    except KafkaError as error:
        return MetadataResponseTopic(name=name, error_code=int(error.code))
    return MetadataResponseTopic(name=name, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
