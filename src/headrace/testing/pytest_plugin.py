"""The pytest plugin: a fixture `kafka` with a real node behind it.

One node serves the whole test run, which makes a test's share of it a few milliseconds; each test
finds it running and without the topics and groups of other tests. A test may stop, kill and
restart the node, move its clock and change its settings. A test that needs settings of its own
makes its own `EmbeddedKafka`.

pytest imports this module in every run on a machine that has Headrace installed, so it imports
no node, client or event loop until a test asks for the fixture.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from headrace.testing.embedded import EmbeddedKafka

_NODE = pytest.StashKey["EmbeddedKafka"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("headrace", "Headrace")
    group.addoption(
        "--kafka-setting",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a broker setting of the fixture `kafka`; may be given several times",
    )
    group.addoption(
        "--kafka-in-process",
        action="store_true",
        default=None,
        help="run the node of the fixture `kafka` inside the test process",
    )
    parser.addini(
        "kafka_settings", "broker settings of the fixture `kafka`, a NAME=VALUE a line", "linelist"
    )
    parser.addini(
        "kafka_in_process", "run the node of the fixture `kafka` inside the test process", "bool"
    )


@pytest.fixture(scope="session")
def kafka_node(pytestconfig: pytest.Config) -> Iterator[EmbeddedKafka]:
    """The node of the whole run, for fixtures of a wider scope than a test."""
    from headrace.testing.embedded import EmbeddedKafka

    in_process = pytestconfig.getoption("kafka_in_process") or pytestconfig.getini(
        "kafka_in_process"
    )
    with EmbeddedKafka(node_settings(pytestconfig), in_process=bool(in_process)) as node:
        pytestconfig.stash[_NODE] = node
        yield node
        del pytestconfig.stash[_NODE]


@pytest.fixture
def kafka(kafka_node: EmbeddedKafka) -> Iterator[EmbeddedKafka]:
    """A running node; the topics and the groups that a test makes are gone after it."""
    from headrace.testing.dynamic_settings import dynamic_settings
    from headrace.testing.groups import delete_empty_groups, group_ids

    settings = dict(kafka_node.settings)
    before = set(kafka_node.topics())
    groups_before = group_ids(kafka_node.client)
    set_before, ahead_before = dynamic_settings(kafka_node.client), kafka_node.ahead_ms
    yield kafka_node
    # Whether it has been restarted with them is not told.
    has_other_settings = kafka_node.settings != settings
    kafka_node.settings = settings
    if (
        not kafka_node.is_running
        or has_other_settings
        or kafka_node.ahead_ms != ahead_before
        or dynamic_settings(kafka_node.client) != set_before
    ):
        # What a test leaves dead may be damaged too, time cannot be turned back, and what was set
        # may have changed data: the next one gets a fresh directory.
        kafka_node.close()
        kafka_node.start()
    else:
        kafka_node.delete_topic(*(set(kafka_node.topics()) - before))
        client = kafka_node.client
        delete_empty_groups(client, group_ids(client) - groups_before)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failed test shows what the node logged."""
    report = yield
    node = item.config.stash.get(_NODE, None)
    if report.failed and node is not None and "kafka_node" in getattr(item, "fixturenames", ()):
        log = node.log
        if log:
            report.sections.append(("Kafka node log", log))
    return report


def node_settings(config: pytest.Config) -> dict[str, str]:
    """From the ini file, and above it the command line."""
    settings = {}
    for pair in [*config.getini("kafka_settings"), *config.getoption("kafka_setting")]:
        name, equals, value = pair.partition("=")
        if not equals:
            raise pytest.UsageError(f"A Kafka setting is NAME=VALUE, not '{pair}'.")
        settings[name.strip()] = value.strip()
    return settings
