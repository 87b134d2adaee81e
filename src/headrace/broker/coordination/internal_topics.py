"""The topics that coordinators keep their state in, made when they are first needed."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker.controller_gate import Controller
from headrace.metadata.controller.settings import ControllerSettings
from headrace.metadata.controller.topics import create_topics
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
        #: Clients ask again and again, and the log says it once.
        self._warned: set[str] = set()

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

        def created(reply: list[CreatableTopicResult] | KafkaError) -> None:
            problem = _problem(reply)
            if problem is None:
                self._warned.discard(name)
            elif name not in self._warned:
                self._warned.add(name)
                _warn(name, problem)
            done(problem)

        self._controller.submit(
            lambda image: create_topics(image, self._settings, [wanted]), created
        )


def _problem(reply: list[CreatableTopicResult] | KafkaError) -> KafkaError | None:
    """Why there is no topic; None if it exists now."""
    if isinstance(reply, KafkaError):
        return reply
    code = ErrorCode(reply[0].error_code)
    if code in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
        return None
    return KafkaError(code, reply[0].error_message or "")


def _warn(name: str, problem: KafkaError) -> None:
    """A client only waits for a coordinator: without this line nobody would learn why."""
    setting = _REPLICATION_SETTINGS.get(name)
    advice = ""
    if setting is not None and problem.code is ErrorCode.INVALID_REPLICATION_FACTOR:
        advice = f" Set {setting} to the number of brokers, or lower."
    logger.warning("The topic %s cannot be created: %s%s", name, problem, advice)
