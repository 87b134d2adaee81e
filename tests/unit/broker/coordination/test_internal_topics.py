"""Internal topics that cannot be made: the operator hears why, once."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker.controller_gate import Command
from headrace.broker.coordination.internal_topics import (
    OFFSETS_TOPIC,
    InternalTopic,
    InternalTopics,
)
from headrace.metadata.controller.settings import ControllerSettings
from headrace.protocol.messages.create_topics import CreatableTopicResult

REFUSED = CreatableTopicResult(
    name=OFFSETS_TOPIC,
    error_code=ErrorCode.INVALID_REPLICATION_FACTOR,
    error_message="Only 1 broker is registered.",
)
CREATED = CreatableTopicResult(name=OFFSETS_TOPIC)


class ScriptedController:
    """Answers as told."""

    def __init__(self, *answers: CreatableTopicResult) -> None:
        self._answers: Iterator[CreatableTopicResult] = iter(answers)

    def submit(self, command: Command, done: Callable[[Any], None]) -> None:
        done([next(self._answers)])


def test_a_refusal_is_one_warning_that_names_the_setting(
    caplog: pytest.LogCaptureFixture,
) -> None:
    topics = InternalTopics(
        ScriptedController(REFUSED, REFUSED, CREATED, REFUSED),
        ControllerSettings(),
        {OFFSETS_TOPIC: InternalTopic(OFFSETS_TOPIC, 50, 3)},
    )
    heard: list[KafkaError | None] = []
    for _ in range(3):
        topics.ensure(OFFSETS_TOPIC, heard.append)
    assert [error and error.code for error in heard] == [
        ErrorCode.INVALID_REPLICATION_FACTOR,
        ErrorCode.INVALID_REPLICATION_FACTOR,
        None,
    ]
    expected = (
        "The topic __consumer_offsets cannot be created: Only 1 broker is registered."
        " Set offsets.topic.replication.factor to the number of brokers, or lower."
    )
    assert caplog.messages == [expected]
    topics.ensure(OFFSETS_TOPIC, heard.append)
    assert caplog.messages == [expected, expected]
