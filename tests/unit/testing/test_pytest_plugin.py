"""The fixture `kafka`, in test runs of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

import headrace

pytest_plugins = ["pytester"]

_TESTS = """
import pytest

seen = {}

@pytest.fixture(scope="module")
def shared(kafka_node):
    return kafka_node.create_topic("shared")

def test_makes_a_topic(kafka, shared):
    kafka.create_topic("orders", partitions=2)
    seen["pid"] = kafka.pid

def test_finds_the_same_node_without_the_topics_of_others(kafka, shared):
    assert kafka.topics() == ["shared"]
    assert kafka.pid == seen["pid"]

def test_kills_it(kafka):
    kafka.create_topic("left-behind")
    kafka.settings["auto.create.topics.enable"] = "true"
    kafka.kill()

def test_finds_a_fresh_node_after_a_kill(kafka):
    assert kafka.is_running
    assert kafka.topics() == []
    assert kafka.pid != seen["pid"]
    assert kafka.settings == {
        "auto.create.topics.enable": "false", "num.partitions": "3", "no.such.setting": "1"
    }

def test_fails(kafka):
    assert kafka.topics() == ["something"]
"""


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    # The plugin by its module, installed or not.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", str(Path(headrace.__file__).parents[1]))
    pytester.plugins = ["headrace.testing.pytest_plugin"]
    return pytester


def test_tests_share_a_node_and_not_their_topics(run: pytest.Pytester) -> None:
    run.makeini("[pytest]\nkafka_settings =\n  auto.create.topics.enable=false\n  num.partitions=2")
    run.makepyfile(_TESTS)
    result = run.runpytest_subprocess(
        "--kafka-setting", "num.partitions=3", "--kafka-setting=no.such.setting=1"
    )
    result.assert_outcomes(passed=4, failed=1)
    # A failed test shows what the node had to say.
    result.stdout.fnmatch_lines(["*Kafka node log*", "*no.such.setting*"])


def test_the_node_runs_in_the_test_process_on_request(run: pytest.Pytester) -> None:
    run.makepyfile(
        """
        import os

        def test_is_here(kafka):
            assert kafka.pid == os.getpid()
            assert kafka.topic() in kafka.topics()

        def test_is_stopped_and_comes_back(kafka):
            kafka.stop()

        def test_runs_again(kafka):
            assert kafka.topics() == []
        """
    )
    run.runpytest_subprocess("--kafka-in-process", "-W", "error").assert_outcomes(passed=3)


@pytest.mark.parametrize("option", ["--kafka-in-process", "--kafka-setting=num.partitions=2"])
def test_neither_time_nor_settings_of_a_test_stay_for_the_next(
    run: pytest.Pytester, option: str
) -> None:
    run.makepyfile(
        """
        import time

        import pytest

        from headrace.base.errors import KafkaError
        from headrace.cli.main import main
        from headrace.testing.dynamic_settings import dynamic_settings

        def alter(kafka, *words):
            server = ("--bootstrap-server", kafka.bootstrap_servers)
            assert main(["configs", "--alter", "--entity-type", "brokers", *words, *server]) == 0

        def names(kafka):
            return {setting.name for setting in dynamic_settings(kafka.client)}

        def time_of_a_record(kafka):
            topic = kafka.topic(configs={"message.timestamp.type": "LogAppendTime"})
            kafka.produce(topic, ["now"])
            return kafka.consume(topic, 1)[0].timestamp / 1000

        def test_moves_the_clock(kafka):
            kafka.advance(86400)
            assert time_of_a_record(kafka) > time.time() + 80000

        def test_finds_the_time_of_the_machine(kafka):
            assert time_of_a_record(kafka) < time.time() + 80000

        def test_sets_something_for_all_brokers(kafka):
            alter(kafka, "--entity-default", "--add-config", "log.retention.ms=1000")
            assert "log.retention.ms" in names(kafka)

        def test_sets_something_for_the_broker(kafka):
            assert "log.retention.ms" not in names(kafka)
            alter(kafka, "--entity-name", "1", "--add-config", "max.connections=7")
            assert "max.connections" in names(kafka)

        def test_finds_nothing_set(kafka):
            assert "max.connections" not in names(kafka)

        def test_restarts_with_another_setting(kafka):
            kafka.settings["message.max.bytes"] = "100"
            kafka.restart()
            with pytest.raises(KafkaError, match="exceeds the maximum"):
                kafka.produce(kafka.topic(), ["x" * 1000])

        def test_finds_the_settings_of_the_run(kafka):
            kafka.produce(kafka.topic(), ["x" * 1000])
        """
    )
    run.runpytest_subprocess(option).assert_outcomes(passed=7)


def test_what_a_wider_fixture_has_set_stays_for_its_tests(run: pytest.Pytester) -> None:
    run.makepyfile(
        """
        import pytest

        from headrace.testing.dynamic_settings import DynamicSetting, dynamic_settings
        from headrace.cli.main import main

        @pytest.fixture(scope="module")
        def ahead(kafka_node):
            kafka_node.advance(10)
            words = ["--entity-default", "--add-config", "log.retention.ms=1000"]
            server = ["--bootstrap-server", kafka_node.bootstrap_servers]
            assert main(["configs", "--alter", "--entity-type", "brokers", *words, *server]) == 0
            return kafka_node.pid

        @pytest.mark.parametrize("turn", [1, 2])
        def test_both(ahead, kafka, turn):
            assert kafka.pid == ahead
            assert kafka.ahead_ms == 10_000
            assert DynamicSetting("", "log.retention.ms", "1000") in dynamic_settings(kafka.client)
        """
    )
    run.runpytest_subprocess().assert_outcomes(passed=2)


def test_groups_go_with_their_test_unless_somebody_is_in_them(run: pytest.Pytester) -> None:
    run.makepyfile(
        """
        import pytest
        from confluent_kafka import Consumer, TopicPartition

        from headrace.testing.groups import group_ids

        def commit(kafka, group):
            consumer = Consumer({"bootstrap.servers": kafka.bootstrap_servers, "group.id": group})
            offsets = [TopicPartition("shared", 0, 7)]
            consumer.commit(offsets=offsets, asynchronous=False)
            return consumer

        @pytest.fixture(scope="module")
        def shared(kafka_node):
            kafka_node.create_topic("shared")
            commit(kafka_node, "before").close()

        @pytest.fixture(scope="module")
        def member(kafka_node):
            consumer = Consumer(
                {"bootstrap.servers": kafka_node.bootstrap_servers, "group.id": "joined"}
            )
            yield consumer
            consumer.close()

        def test_makes_groups(kafka, shared, member):
            commit(kafka, "left").close()
            member.subscribe(["shared"])
            while not member.assignment():
                member.poll(0.05)
            assert group_ids(kafka.client) == {"before", "left", "joined"}

        def test_finds_those_that_are_not_its_own(kafka):
            assert group_ids(kafka.client) == {"before", "joined"}
            assert kafka.committed("before") == {("shared", 0): 7}
        """
    )
    run.runpytest_subprocess(
        "--kafka-setting", "group.initial.rebalance.delay.ms=0"
    ).assert_outcomes(passed=2)


def test_a_setting_without_a_value_is_a_usage_error(run: pytest.Pytester) -> None:
    run.makepyfile("def test_it(kafka): pass")
    result = run.runpytest_subprocess("--kafka-setting", "nonsense")
    result.stdout.fnmatch_lines(["*NAME=VALUE, not 'nonsense'*"])


def test_a_run_that_does_not_use_it_loads_no_node(run: pytest.Pytester) -> None:
    run.makepyfile(
        """
        import sys

        def test_is_lean():
            loaded = {name for name in sys.modules if name.startswith("headrace.")}
            assert all(name.startswith("headrace.testing") for name in loaded)
            assert not {"asyncio", "logging.handlers"} & sys.modules.keys()
        """
    )
    run.runpytest_subprocess().assert_outcomes(passed=1)
