"""The levels of a broker's loggers, set by clients (KIP-412)."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.base.errors import ErrorCode
from headrace.broker.loggers import logger_levels
from headrace.metadata.controller.configs import ConfigOperation
from headrace.metadata.image import ConfigResource
from headrace.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.unit.broker.fakes import NODE_ID, DenyAll
from tests.unit.broker.harness import Broker

PARENT = "headrace.test.altered"
CHILD = f"{PARENT}.child"
SET, DELETE = ConfigOperation.SET, ConfigOperation.DELETE
Change = tuple[str, int, str | None]


@pytest.fixture(autouse=True)
def loggers() -> Iterator[None]:
    """Two loggers that inherit their levels, before and after."""
    names = (PARENT, CHILD)
    for name in names:
        logging.getLogger(name).setLevel(logging.NOTSET)
    yield
    for name in names:
        logging.getLogger(name).setLevel(logging.NOTSET)


def loggers_of(node: str, *changes: Change) -> AlterConfigsResource:
    return AlterConfigsResource(
        resource_type=ConfigResource.BROKER_LOGGER,
        resource_name=node,
        configs=[
            AlterableConfig(name=name, config_operation=operation, value=value)
            for name, operation, value in changes
        ],
    )


def alter(
    broker: Broker, *resources: AlterConfigsResource, validate_only: bool = False
) -> list[tuple[int, str | None]]:
    request = IncrementalAlterConfigsRequest(resources=list(resources), validate_only=validate_only)
    return [(one.error_code, one.error_message) for one in broker.ask(request).responses]


def test_a_level_is_set_at_once_and_unset_again(broker: Broker) -> None:
    offset = broker.plane.log_end_offset
    before = logger_levels()[CHILD]
    changes = [(PARENT, SET, "TRACE")]
    assert alter(broker, loggers_of("1", *changes)) == [(ErrorCode.NONE, None)]
    assert logger_levels()[PARENT] == logger_levels()[CHILD] == "TRACE"
    assert logging.getLogger(CHILD).isEnabledFor(logging.DEBUG)
    assert alter(broker, loggers_of("1", (CHILD, SET, "FATAL"))) == [(ErrorCode.NONE, None)]
    assert logger_levels()[CHILD] == "FATAL"
    assert alter(broker, loggers_of("1", (CHILD, DELETE, ""), (PARENT, DELETE, None))) == [
        (ErrorCode.NONE, None)
    ]
    assert logger_levels()[CHILD] == before
    # Nothing of it is written down.
    assert broker.plane.log_end_offset == offset


@pytest.mark.parametrize("level", ["FATAL", "ERROR", "WARN", "INFO", "DEBUG", "TRACE"])
def test_every_level_is_told_as_it_was_set(broker: Broker, level: str) -> None:
    assert alter(broker, loggers_of("1", (PARENT, SET, level))) == [(ErrorCode.NONE, None)]
    assert logger_levels()[PARENT] == level


def test_all_loggers_of_headrace_have_a_parent_to_set() -> None:
    assert "headrace" in logger_levels()


@pytest.mark.parametrize(
    ("node", "change", "code", "reason"),
    [
        ("1", (PARENT, SET, "debug"), ErrorCode.INVALID_CONFIG, "not a supported log level"),
        ("1", (PARENT, SET, "OFF"), ErrorCode.INVALID_CONFIG, "DEBUG, ERROR, FATAL, INFO, TRACE"),
        ("1", ("no.such.logger", SET, "INFO"), ErrorCode.INVALID_CONFIG, "does not exist!"),
        ("1", ("no.such.logger", DELETE, ""), ErrorCode.INVALID_CONFIG, "does not exist!"),
        ("1", ("root", DELETE, ""), ErrorCode.INVALID_REQUEST, "of the root logger"),
        ("1", (PARENT, ConfigOperation.APPEND, "INFO"), ErrorCode.INVALID_REQUEST, "not allowed"),
        ("1", (PARENT, ConfigOperation.SUBTRACT, "INFO"), ErrorCode.INVALID_REQUEST, "not allowed"),
        ("1", (PARENT, 9, "INFO"), ErrorCode.INVALID_REQUEST, "not allowed"),
        ("1", (PARENT, SET, None), ErrorCode.INVALID_REQUEST, "Null value"),
        ("2", (PARENT, SET, "INFO"), ErrorCode.INVALID_REQUEST, "Expected 1, but received 2"),
        ("", (PARENT, SET, "INFO"), ErrorCode.INVALID_REQUEST, "must be an integer"),
        ("one", (PARENT, SET, "INFO"), ErrorCode.INVALID_REQUEST, "must be an integer"),
    ],
)
def test_what_cannot_be_set_changes_no_logger_at_all(
    broker: Broker, node: str, change: Change, code: ErrorCode, reason: str
) -> None:
    before = logger_levels()
    ((error, message),) = alter(broker, loggers_of(node, (CHILD, SET, "DEBUG"), change))
    assert error == code
    assert message is not None
    assert reason in message
    assert logger_levels() == before


def test_one_may_ask_first(broker: Broker) -> None:
    before = logger_levels()
    changes = loggers_of("1", (PARENT, SET, "DEBUG"))
    assert alter(broker, changes, validate_only=True) == [(ErrorCode.NONE, None)]
    assert logger_levels() == before


def test_loggers_and_settings_may_come_in_one_request(broker: Broker) -> None:
    broker.create_topic("t")
    topic = AlterConfigsResource(
        resource_type=ConfigResource.TOPIC,
        resource_name="t",
        configs=[AlterableConfig(name="retention.ms", config_operation=SET, value="5")],
    )
    answers = alter(broker, loggers_of("1", (PARENT, SET, "ERROR")), topic)
    assert answers == [(ErrorCode.NONE, None)] * 2
    assert logger_levels()[PARENT] == "ERROR"
    assert broker.partition("t").log.config.retention_ms == 5


def test_levels_are_for_those_who_may_alter_the_cluster(tmp_path: Path) -> None:
    broker = Broker(tmp_path, authorizer=DenyAll())
    before = logger_levels()
    ((error, _),) = alter(broker, loggers_of(str(NODE_ID), (PARENT, SET, "DEBUG")))
    assert error == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert logger_levels() == before
    broker.close()
