"""DeleteTopics: by name, or by id since version 6."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.uuids import ZERO_UUID
from headrace.broker.authorization import CLUSTER_NAME, Operation, ResourceType
from headrace.broker.context import RequestContext
from headrace.broker.controller_gate import Controller, ask
from headrace.broker.parked import Parked
from headrace.metadata.controller.topics import delete_topics
from headrace.metadata.image import MetadataImage, TopicImage
from headrace.protocol.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)

_DELETION_DISABLED_SINCE = 3


class DeleteTopicsHandler:
    """Serves API key 20."""

    def __init__(
        self, controller: Controller, image: Callable[[], MetadataImage], *, is_enabled: bool
    ) -> None:
        self._controller = controller
        self._image = image
        self._is_enabled = is_enabled

    def __call__(
        self, context: RequestContext, request: DeleteTopicsRequest
    ) -> DeleteTopicsResponse | Parked:
        if not self._is_enabled:
            code = (
                ErrorCode.INVALID_REQUEST
                if context.api_version < _DELETION_DISABLED_SINCE
                else ErrorCode.TOPIC_DELETION_DISABLED
            )
            raise KafkaError(code, "Topic deletion is disabled.")
        asked = request.topics or [DeleteTopicState(name=name) for name in request.topic_names]
        counts = Counter(state.name or state.topic_id for state in asked)
        results: list[DeletableTopicResult] = []
        found: list[tuple[DeletableTopicResult, bytes]] = []
        image = self._image()
        for state in asked:
            result = DeletableTopicResult(name=state.name, topic_id=state.topic_id)
            results.append(result)
            try:
                topic = _find(context, image, state, counts)
            except KafkaError as error:
                _refuse(result, error)
                continue
            result.name, result.topic_id = topic.name, topic.topic_id
            found.append((result, topic.topic_id))

        def answer(outcomes: dict[bytes, KafkaError | None]) -> DeleteTopicsResponse:
            for result, topic_id in found:
                error = outcomes[topic_id]
                if error is not None:
                    _refuse(result, error)
            return DeleteTopicsResponse(responses=results)

        def refuse(error: KafkaError) -> DeleteTopicsResponse:
            for result, _ in found:
                _refuse(result, error)
            return DeleteTopicsResponse(responses=results)

        return ask(
            self._controller,
            lambda state: delete_topics(state, [topic_id for _, topic_id in found]),
            answer,
            refuse,
        )


def _find(
    context: RequestContext,
    image: MetadataImage,
    state: DeleteTopicState,
    counts: Counter[str | bytes],
) -> TopicImage:
    if state.name is not None:
        if state.topic_id != ZERO_UUID:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST, "Topic name and topic id can not both be specified."
            )
        if counts[state.name] > 1:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
        topic = image.topics_by_name.get(state.name)
        missing = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    else:
        if state.topic_id == ZERO_UUID:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Neither topic name nor id were specified.")
        if counts[state.topic_id] > 1:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Duplicate topic id.")
        topic = image.topics_by_id.get(state.topic_id)
        missing = ErrorCode.UNKNOWN_TOPIC_ID
    if topic is None:
        # Whether a topic exists is not told to those who may not know of it.
        if state.name is not None and not _allows(context, Operation.DESCRIBE, state.name):
            raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Authorization failed.")
        raise KafkaError(missing, "This server does not host this topic-partition.")
    if not _allows(context, Operation.DELETE, topic.name):
        raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Authorization failed.")
    return topic


def _allows(context: RequestContext, operation: Operation, topic: str) -> bool:
    return context.allows(Operation.DELETE, ResourceType.CLUSTER, CLUSTER_NAME) or context.allows(
        operation, ResourceType.TOPIC, topic
    )


def _refuse(result: DeletableTopicResult, error: KafkaError) -> None:
    result.error_code = int(error.code)
    result.error_message = error.message or None
