"""CreateTopics: checked and written by the controller, answered when the records are durable."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker.authorization import CLUSTER_NAME, Operation, ResourceType
from headrace.broker.context import RequestContext
from headrace.broker.controller_gate import Controller, ask
from headrace.broker.parked import Parked
from headrace.metadata.controller.settings import ControllerSettings
from headrace.metadata.controller.topic_names import METADATA_TOPIC
from headrace.metadata.controller.topics import create_topics
from headrace.metadata.image import MetadataImage
from headrace.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

#: The effective settings of a new topic: the image, its name, what the request set.
EffectiveConfigs = Callable[[MetadataImage, str, dict[str, str]], list[CreatableTopicConfigs]]
_CONFIGS_SINCE = 5


class CreateTopicsHandler:
    """Serves API key 19."""

    def __init__(
        self,
        controller: Controller,
        settings: ControllerSettings,
        image: Callable[[], MetadataImage],
        effective_configs: EffectiveConfigs,
    ) -> None:
        self._controller = controller
        self._settings = settings
        self._image = image
        self._effective_configs = effective_configs

    def __call__(
        self, context: RequestContext, request: CreateTopicsRequest
    ) -> CreateTopicsResponse | Parked:
        refused: dict[str, KafkaError] = {}
        wanted: list[CreatableTopic] = []
        counts = Counter(topic.name for topic in request.topics)
        for topic in request.topics:
            error = self._refusal(context, topic.name, counts[topic.name])
            if error is None:
                wanted.append(topic)
            else:
                refused[topic.name] = error

        def answer(results: list[CreatableTopicResult]) -> CreateTopicsResponse:
            configs = {topic.name: topic.configs for topic in wanted}
            for result in results:
                if context.api_version >= _CONFIGS_SINCE and result.error_code == 0:
                    given = {c.name: c.value or "" for c in configs[result.name]}
                    result.configs = self._effective_configs(self._image(), result.name, given)
            return CreateTopicsResponse(
                topics=results + [_refused(n, e) for n, e in refused.items()]
            )

        def refuse(error: KafkaError) -> CreateTopicsResponse:
            return (
                answer([])
                if not wanted
                else CreateTopicsResponse(
                    topics=[_refused(topic.name, error) for topic in wanted]
                    + [_refused(n, e) for n, e in refused.items()]
                )
            )

        return ask(
            self._controller,
            lambda image: create_topics(
                image, self._settings, wanted, validate_only=request.validate_only
            ),
            answer,
            refuse,
        )

    @staticmethod
    def _refusal(context: RequestContext, name: str, count: int) -> KafkaError | None:
        if count > 1:
            return KafkaError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
        if name == METADATA_TOPIC:
            return KafkaError(
                ErrorCode.INVALID_REQUEST, f"Creation of internal topic {name} is prohibited."
            )
        may_create = context.allows(
            Operation.CREATE, ResourceType.CLUSTER, CLUSTER_NAME
        ) or context.allows(Operation.CREATE, ResourceType.TOPIC, name)
        if not may_create:
            return KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Authorization failed.")
        return None


def _refused(name: str, error: KafkaError) -> CreatableTopicResult:
    return CreatableTopicResult(
        name=name, error_code=int(error.code), error_message=error.message or None
    )
