"""CreatePartitions: gives topics more partitions."""

from __future__ import annotations

from collections import Counter

from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker.authorization import Operation, ResourceType
from headrace.broker.context import RequestContext
from headrace.broker.controller_gate import Controller, ask
from headrace.broker.parked import Parked
from headrace.metadata.controller.partitions import create_partitions
from headrace.metadata.controller.settings import ControllerSettings
from headrace.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)


class CreatePartitionsHandler:
    """Serves API key 37."""

    def __init__(self, controller: Controller, settings: ControllerSettings) -> None:
        self._controller = controller
        self._settings = settings

    def __call__(
        self, context: RequestContext, request: CreatePartitionsRequest
    ) -> CreatePartitionsResponse | Parked:
        counts = Counter(topic.name for topic in request.topics)
        refused: list[CreatePartitionsTopicResult] = []
        wanted = []
        for topic in request.topics:
            if counts[topic.name] > 1:
                error = KafkaError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
            elif not context.allows(Operation.ALTER, ResourceType.TOPIC, topic.name):
                error = KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Authorization failed.")
            else:
                wanted.append(topic)
                continue
            refused.append(_refused(topic.name, error))

        def answer(results: list[CreatePartitionsTopicResult]) -> CreatePartitionsResponse:
            return CreatePartitionsResponse(results=results + refused)

        def refuse(error: KafkaError) -> CreatePartitionsResponse:
            return answer([_refused(topic.name, error) for topic in wanted])

        return ask(
            self._controller,
            lambda image: create_partitions(
                image, self._settings, wanted, validate_only=request.validate_only
            ),
            answer,
            refuse,
        )


def _refused(name: str, error: KafkaError) -> CreatePartitionsTopicResult:
    return CreatePartitionsTopicResult(
        name=name, error_code=int(error.code), error_message=error.message or None
    )
