"""Internal topics that cannot be made: the operator hears why, once."""

from collections.abc import Callable, Iterator
from dataclasses import replace
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
from headrace.metadata.image import BrokerImage, MetadataImage
from headrace.protocol.messages.create_topics import CreatableTopicResult

REFUSED = CreatableTopicResult(
    name=OFFSETS_TOPIC,
    error_code=ErrorCode.INVALID_REPLICATION_FACTOR,
    error_message="Only 1 broker is registered.",
)
CREATED = CreatableTopicResult(name=OFFSETS_TOPIC)


BROKER = BrokerImage(
    broker_id=1,
    epoch=7,
    incarnation_id=b"b" * 16,
    endpoints=(),
    features={},
    rack=None,
    fenced=False,
    in_controlled_shutdown=False,
    directories=(b"1" * 16, b"2" * 16),
)
CORDONED = replace(BROKER, cordoned_directories=BROKER.directories)


class RealController:
    """Runs commands on an image."""

    def __init__(self, *brokers: BrokerImage) -> None:
        self.image = MetadataImage(brokers={broker.broker_id: broker for broker in brokers})

    def submit(self, command: Command, done: Callable[[Any], None]) -> None:
        done(command(self.image).reply)


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


def test_cordoned_directories_are_the_reason_when_a_broker_has_no_other(
    caplog: pytest.LogCaptureFixture,
) -> None:
    controller = RealController(CORDONED)
    topics = InternalTopics(
        controller, ControllerSettings(), {OFFSETS_TOPIC: InternalTopic(OFFSETS_TOPIC, 50, 3)}
    )
    for _ in range(2):
        topics.ensure(OFFSETS_TOPIC, lambda _: None)
    reasons = [message.partition(" cannot be created: ")[2] for message in caplog.messages]
    expected = (
        "Unable to replicate the partition 3 time(s):"
        " All brokers are currently fenced, or have all their log directories cordoned."
        " Take a data directory out of cordoned.log.dirs of broker 1."
    )
    assert reasons == [expected]
    caplog.clear()
    # With that mended, what else is wrong is told too.
    half_open = replace(BROKER, cordoned_directories=BROKER.directories[:1])
    controller.image = MetadataImage(brokers={1: half_open})
    topics.ensure(OFFSETS_TOPIC, lambda _: None)
    assert caplog.messages[0].endswith(
        " Set offsets.topic.replication.factor to the number of brokers, or lower."
    )
