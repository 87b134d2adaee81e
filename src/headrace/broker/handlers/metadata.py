"""Metadata: the brokers, and where the partitions of topics are. Creates topics on first use."""

from __future__ import annotations

from collections.abc import Callable

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.uuids import ZERO_UUID
from headrace.broker.authorization import CLUSTER_NAME, Operation, ResourceType
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

_TOPIC_IDS_SINCE = 12

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
        _check_ids(request, context.api_version)
        missing, refused = self._creatable(context, request)
        if not missing:
            return self._answer(context, request, refused)
        parked = Parked()

        def created(errors: dict[str, KafkaError]) -> None:
            parked.complete(self._answer(context, request, refused | errors))

        self._auto_create(missing, created)
        return parked

    def _creatable(
        self, context: RequestContext, request: MetadataRequest
    ) -> tuple[list[str], dict[str, KafkaError]]:
        """Topics that the client asks for and that do not exist: to be created, or refused."""
        refused: dict[str, KafkaError] = {}
        if not (self._config.auto_create_topics and request.allow_auto_topic_creation):
            return [], refused
        known = self._cluster.image.topics_by_name
        may_create_all = context.allows(Operation.CREATE, ResourceType.CLUSTER, CLUSTER_NAME)
        names: dict[str, None] = {}
        for topic in request.topics or ():
            name = topic.name
            if not name or name in known or name in names:
                continue
            try:
                check_topic_name(name)
            except KafkaError:
                continue
            if not context.allows(Operation.DESCRIBE, ResourceType.TOPIC, name):
                continue
            if may_create_all or context.allows(Operation.CREATE, ResourceType.TOPIC, name):
                names[name] = None
            else:
                refused[name] = KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        return list(names), refused

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
            may_describe = context.allows(Operation.DESCRIBE, ResourceType.CLUSTER, CLUSTER_NAME)
            response.cluster_authorized_operations = (
                context.authorized_operations(ResourceType.CLUSTER) if may_describe else 0
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
        for asked_name, asked_id in dict.fromkeys((t.name, t.topic_id) for t in request.topics):
            topic = self._find(asked_name, asked_id, image)
            name = asked_name if topic is None else topic.name
            # Whether a topic exists is not told to those who may not know of it.
            if name and not context.allows(Operation.DESCRIBE, ResourceType.TOPIC, name):
                code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
                answers.append(
                    MetadataResponseTopic(name=asked_name, topic_id=asked_id, error_code=code)
                )
            elif topic is None:
                answers.append(_unknown(asked_name, asked_id, errors))
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


def _check_ids(request: MetadataRequest, version: int) -> None:
    """Ids are on the wire since version 10, but may be used only since version 12."""
    if version >= _TOPIC_IDS_SINCE:
        return
    for topic in request.topics or ():
        if topic.name is None or topic.topic_id != ZERO_UUID:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST,
                f"Version {version} of Metadata knows topics by name only.",
            )


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
