"""The topics that coordinators keep their state in, made when they are first needed."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker.controller_gate import Controller
from headrace.metadata.controller.placement import is_cordoned_off
from headrace.metadata.controller.result import ControllerResult
from headrace.metadata.controller.settings import ControllerSettings
from headrace.metadata.controller.topics import create_topics
from headrace.metadata.image import MetadataImage
from headrace.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicResult,
)

logger = logging.getLogger(__name__)

OFFSETS_TOPIC = "__consumer_offsets"
TRANSACTIONS_TOPIC = "__transaction_state"

_REPLICATION_SETTINGS = {
    OFFSETS_TOPIC: "offsets.topic.replication.factor",
    TRANSACTIONS_TOPIC: "transaction.state.log.replication.factor",
}


@dataclass(frozen=True, slots=True)
class InternalTopic:
    """How one of them is made."""

    name: str
    partitions: int
    replication_factor: int
    configs: dict[str, str] = field(default_factory=dict)


class InternalTopics:
    """Creates internal topics through the controller."""

    def __init__(
        self,
        controller: Controller,
        settings: ControllerSettings,
        topics: dict[str, InternalTopic],
    ) -> None:
        self._controller = controller
        self._settings = settings
        self._topics = topics
        #: What the log was told of each: clients ask again and again.
        self._warned: dict[str, str] = {}

    def ensure(self, name: str, done: Callable[[KafkaError | None], None]) -> None:
        """Create the topic unless it exists; `done` when it does, or with the reason why not."""
        topic = self._topics[name]
        wanted = CreatableTopic(
            name=topic.name,
            num_partitions=topic.partitions,
            replication_factor=topic.replication_factor,
            configs=[
                CreatableTopicConfig(name=key, value=value) for key, value in topic.configs.items()
            ],
        )

        cordoned_off: list[int] = []

        def create(image: MetadataImage) -> ControllerResult[list[CreatableTopicResult]]:
            cordoned_off.extend(b for b, broker in image.brokers.items() if is_cordoned_off(broker))
            return create_topics(image, self._settings, [wanted])

        def created(reply: list[CreatableTopicResult] | KafkaError) -> None:
            problem = _problem(reply)
            if problem is None:
                self._warned.pop(name, None)
            else:
                self._warn(name, f"{problem}{_advice(name, problem, cordoned_off)}")
            done(problem)

        self._controller.submit(create, created)

    def _warn(self, name: str, reason: str) -> None:
        """A client only waits for a coordinator: without this line nobody would learn why."""
        if self._warned.get(name) != reason:
            self._warned[name] = reason
            logger.warning("The topic %s cannot be created: %s", name, reason)


def _problem(reply: list[CreatableTopicResult] | KafkaError) -> KafkaError | None:
    """Why there is no topic; None if it exists now."""
    if isinstance(reply, KafkaError):
        return reply
    code = ErrorCode(reply[0].error_code)
    if code in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
        return None
    return KafkaError(code, reply[0].error_message or "")


def _advice(name: str, problem: KafkaError, cordoned_off: list[int]) -> str:
    """What an operator can do about it."""
    setting = _REPLICATION_SETTINGS.get(name)
    if setting is None or problem.code is not ErrorCode.INVALID_REPLICATION_FACTOR:
        return ""
    if cordoned_off:
        shown = ", ".join(map(str, sorted(cordoned_off)))
        return f" Take a data directory out of cordoned.log.dirs of broker {shown}."
    return f" Set {setting} to the number of brokers, or lower."
