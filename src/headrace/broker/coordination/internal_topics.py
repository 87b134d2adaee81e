"""The topics that coordinators keep their state in, made when they are first needed."""

from __future__ import annotations

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

OFFSETS_TOPIC = "__consumer_offsets"
TRANSACTIONS_TOPIC = "__transaction_state"


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
            if isinstance(reply, KafkaError):
                done(reply)
            elif reply[0].error_code in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
                done(None)
            else:
                done(KafkaError(ErrorCode(reply[0].error_code), reply[0].error_message or ""))

        self._controller.submit(
            lambda image: create_topics(image, self._settings, [wanted]), created
        )
