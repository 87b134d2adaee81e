"""DescribeConfigs and ListConfigResources: settings, where they are from, and who has some."""

import logging
from pathlib import Path
from typing import Any

import pytest

from headrace.base.errors import ErrorCode
from headrace.base.settings.effective import ConfigSource
from headrace.base.settings.topic import TOPIC_SETTINGS
from headrace.base.settings.values import SettingType
from headrace.broker.loggers import logger_levels
from headrace.metadata import records as r
from headrace.metadata.image import ConfigResource
from headrace.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResult,
)
from headrace.protocol.messages.list_config_resources import ListConfigResourcesRequest
from tests.unit.broker.fakes import NODE_ID, DenyAll
from tests.unit.broker.harness import Broker

TOPIC, BROKER = ConfigResource.TOPIC, ConfigResource.BROKER
SECRET = "do not tell"


def describe(
    broker: Broker,
    kind: int,
    name: str,
    keys: list[str] | None = None,
    *,
    version: int = 4,
    **options: Any,
) -> DescribeConfigsResult:
    resource = DescribeConfigsResource(
        resource_type=kind, resource_name=name, configuration_keys=keys
    )
    request = DescribeConfigsRequest(resources=[resource], **options)
    (result,) = broker.ask(request, version).results
    assert (result.resource_type, result.resource_name) == (kind, name)
    found: DescribeConfigsResult = result
    return found


def entries(result: DescribeConfigsResult) -> dict[str, Any]:
    assert result.error_code == ErrorCode.NONE, result
    return {entry.name: entry for entry in result.configs}


def set_config(broker: Broker, kind: int, name: str, key: str, value: str) -> None:
    record = r.ConfigRecord(resource_type=kind, resource_name=name, name=key, value=value)
    broker.plane.apply([record])


# Topics


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_a_topic_has_every_setting_with_its_source(broker: Broker, version: int) -> None:
    broker.create_topic("t", retention_ms="1234")
    found = entries(describe(broker, TOPIC, "t", version=version))
    shown = {name for name, setting in TOPIC_SETTINGS.items() if not setting.internal}
    assert found.keys() == shown
    own, default = found["retention.ms"], found["max.message.bytes"]
    assert (own.value, own.config_source) == ("1234", ConfigSource.DYNAMIC_TOPIC_CONFIG)
    assert (default.value, default.config_source) == ("1048588", ConfigSource.DEFAULT_CONFIG)
    assert not own.is_sensitive
    assert not own.read_only
    assert own.config_type == (SettingType.LONG if version >= 3 else 0)


def test_a_topic_takes_what_the_broker_says_where_it_says_nothing(tmp_path: Path) -> None:
    broker = Broker(tmp_path, overrides={"log.retention.hours": "2"})
    broker.create_topic("t")
    entry = entries(describe(broker, TOPIC, "t", include_synonyms=True))["retention.ms"]
    assert entry.value == "7200000"
    set_config(broker, BROKER, "", "log.retention.ms", "5000")
    entry = entries(describe(broker, TOPIC, "t", include_synonyms=True))["retention.ms"]
    assert (entry.value, entry.config_source) == (
        "5000",
        ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG,
    )
    broker.close()


def test_synonyms_and_documentation_are_told_to_those_who_ask(broker: Broker) -> None:
    broker.create_topic("t", retention_ms="1234")
    plain = entries(describe(broker, TOPIC, "t"))["retention.ms"]
    assert (plain.synonyms, plain.documentation) == ([], None)
    asked = entries(
        describe(broker, TOPIC, "t", include_synonyms=True, include_documentation=True)
    )["retention.ms"]
    assert len(asked.documentation) > 20
    first = asked.synonyms[0]
    assert (first.name, first.value) == ("retention.ms", "1234")
    assert first.source == ConfigSource.DYNAMIC_TOPIC_CONFIG


def test_topics_in_one_request_are_told_apart_by_their_own_settings(broker: Broker) -> None:
    for name, value in (("a", "1"), ("b", "2"), ("c", "1")):
        broker.create_topic(name, retention_ms=value)
    broker.create_topic("d")
    resources = [
        DescribeConfigsResource(
            resource_type=TOPIC, resource_name=name, configuration_keys=["retention.ms"]
        )
        for name in "abcde"
    ]
    results = broker.ask(DescribeConfigsRequest(resources=resources)).results
    found = [[entry.value for entry in result.configs] for result in results]
    assert found == [["1"], ["2"], ["1"], ["604800000"], []]


def test_some_settings_only(broker: Broker) -> None:
    broker.create_topic("t")
    keys = ["retention.ms", "cleanup.policy", "no.such.setting"]
    found = entries(describe(broker, TOPIC, "t", keys))
    assert sorted(found) == ["cleanup.policy", "retention.ms"]


def test_an_empty_list_of_settings_asks_for_all_of_them(broker: Broker) -> None:
    broker.create_topic("t")
    assert len(entries(describe(broker, TOPIC, "t", []))) > 20


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("nowhere", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("not valid", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("", ErrorCode.INVALID_TOPIC_EXCEPTION),
    ],
)
def test_a_topic_that_is_not_there_has_no_settings(
    broker: Broker, name: str, code: ErrorCode
) -> None:
    result = describe(broker, TOPIC, name)
    assert (result.error_code, result.configs) == (code, [])


# Brokers


def test_a_broker_tells_its_own_settings_from_all_layers(tmp_path: Path) -> None:
    broker = Broker(tmp_path, overrides={"num.io.threads": "3"})
    set_config(broker, BROKER, "", "log.cleaner.threads", "2")
    set_config(broker, BROKER, str(NODE_ID), "message.max.bytes", "2000")
    found = entries(describe(broker, BROKER, str(NODE_ID)))
    sources = {name: (found[name].value, found[name].config_source) for name in found}
    assert sources["num.io.threads"] == ("3", ConfigSource.STATIC_BROKER_CONFIG)
    assert sources["log.cleaner.threads"] == ("2", ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG)
    assert sources["message.max.bytes"] == ("2000", ConfigSource.DYNAMIC_BROKER_CONFIG)
    assert sources["num.network.threads"] == ("3", ConfigSource.DEFAULT_CONFIG)
    assert found["node.id"].read_only
    assert not found["message.max.bytes"].read_only
    assert len(found) > 200
    broker.close()


def test_the_nameless_broker_has_what_is_set_for_all_of_them(broker: Broker) -> None:
    assert entries(describe(broker, BROKER, "")) == {}
    set_config(broker, BROKER, "", "log.cleaner.threads", "2")
    (entry,) = entries(describe(broker, BROKER, "")).values()
    assert (entry.name, entry.value) == ("log.cleaner.threads", "2")
    assert entry.config_source == ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG


@pytest.mark.parametrize(
    "name", ["2", "-1", "one", "1.0", " 1", "1_0", "٣", "99999999999999999999"]
)
def test_a_broker_knows_nobody_elses_settings(broker: Broker, name: str) -> None:
    for kind in (BROKER, ConfigResource.BROKER_LOGGER):
        result = describe(broker, kind, name)
        assert (result.error_code, result.configs) == (ErrorCode.INVALID_REQUEST, [])
        assert result.error_message


def test_secrets_are_never_told(tmp_path: Path) -> None:
    overrides = {
        "ssl.keystore.password": SECRET,
        "listener.name.plaintext.ssl.key.password": SECRET,
        "an.unknown.setting": SECRET,
    }
    broker = Broker(tmp_path, overrides=overrides)
    set_config(broker, BROKER, "", "ssl.truststore.password", SECRET)
    set_config(broker, BROKER, str(NODE_ID), "ssl.key.password", SECRET)
    for name in (str(NODE_ID), ""):
        result = describe(broker, BROKER, name, include_synonyms=True, include_documentation=True)
        assert SECRET not in repr(result)
        secret = [e for e in result.configs if "password" in e.name or "unknown" in e.name]
        assert secret
        assert all(entry.is_sensitive and entry.value is None for entry in secret)
    broker.close()


# Loggers, groups, client metrics


def test_the_loggers_of_the_broker_with_kafkas_levels(broker: Broker) -> None:
    logging.getLogger("headrace.test.describe").setLevel(logging.WARNING)
    kind = ConfigResource.BROKER_LOGGER
    found = entries(describe(broker, kind, str(NODE_ID)))
    entry = found["headrace.test.describe"]
    assert (entry.value, entry.config_source) == ("WARN", ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG)
    assert "root" in found
    (only,) = entries(describe(broker, kind, str(NODE_ID), ["headrace.test.describe"])).values()
    assert only == entry


@pytest.mark.parametrize(
    ("level", "name"), [(1, "TRACE"), (10, "DEBUG"), (25, "INFO"), (50, "FATAL"), (51, "OFF")]
)
def test_levels_have_kafkas_names(level: int, name: str) -> None:
    logging.getLogger("headrace.test.levels").setLevel(level)
    assert logger_levels()["headrace.test.levels"] == name


def test_a_group_has_its_own_settings_over_the_brokers(broker: Broker) -> None:
    kind = ConfigResource.GROUP
    set_config(broker, kind, "g", "consumer.session.timeout.ms", "50000")
    found = entries(describe(broker, kind, "g"))
    entry = found["consumer.session.timeout.ms"]
    assert (entry.value, entry.config_source) == ("50000", ConfigSource.DYNAMIC_GROUP_CONFIG)
    assert entries(describe(broker, kind, "another group")).keys() == found.keys()


def test_a_client_metrics_subscription_has_its_settings(broker: Broker) -> None:
    kind = ConfigResource.CLIENT_METRICS
    set_config(broker, kind, "s", "interval.ms", "1000")
    entry = entries(describe(broker, kind, "s"))["interval.ms"]
    assert (entry.value, entry.config_source) == (
        "1000",
        ConfigSource.DYNAMIC_CLIENT_METRICS_CONFIG,
    )


@pytest.mark.parametrize(
    "kind", [ConfigResource.BROKER_LOGGER, ConfigResource.GROUP, ConfigResource.CLIENT_METRICS]
)
def test_these_need_a_name(broker: Broker, kind: ConfigResource) -> None:
    assert describe(broker, kind, "").error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("kind", [0, 1, 3, 64, -1])
def test_a_kind_of_resource_without_settings_spoils_the_whole_request(
    broker: Broker, kind: int
) -> None:
    broker.create_topic("t")
    resources = [
        DescribeConfigsResource(resource_type=TOPIC, resource_name="t"),
        DescribeConfigsResource(resource_type=kind, resource_name="x"),
    ]
    results = broker.ask(DescribeConfigsRequest(resources=resources)).results
    assert [result.error_code for result in results] == [ErrorCode.INVALID_REQUEST] * 2


def test_an_answer_has_a_bounded_number_of_settings(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.broker.handlers.describe_configs._ENTRIES_MAX", 100)
    resources = [
        DescribeConfigsResource(
            resource_type=ConfigResource.GROUP, resource_name=f"g{number}", configuration_keys=None
        )
        for number in range(20)
    ]
    results = broker.ask(DescribeConfigsRequest(resources=resources)).results
    assert sum(len(result.configs) for result in results) <= 100
    assert results[0].error_code == ErrorCode.NONE
    assert results[-1].error_code == ErrorCode.INVALID_REQUEST


def test_one_bad_resource_costs_the_others_nothing(broker: Broker) -> None:
    broker.create_topic("t")
    resources = [
        DescribeConfigsResource(resource_type=TOPIC, resource_name=name, configuration_keys=None)
        for name in ("nowhere", "t")
    ]
    results = broker.ask(DescribeConfigsRequest(resources=resources)).results
    assert [result.error_code for result in results] == [
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NONE,
    ]


@pytest.mark.parametrize(
    ("kind", "name", "code"),
    [
        (TOPIC, "t", ErrorCode.TOPIC_AUTHORIZATION_FAILED),
        (TOPIC, "nowhere", ErrorCode.TOPIC_AUTHORIZATION_FAILED),
        (BROKER, "1", ErrorCode.CLUSTER_AUTHORIZATION_FAILED),
        (ConfigResource.BROKER_LOGGER, "1", ErrorCode.CLUSTER_AUTHORIZATION_FAILED),
        (ConfigResource.CLIENT_METRICS, "s", ErrorCode.CLUSTER_AUTHORIZATION_FAILED),
        (ConfigResource.GROUP, "g", ErrorCode.GROUP_AUTHORIZATION_FAILED),
    ],
)
def test_settings_are_for_those_who_may_see_them(
    tmp_path: Path, kind: int, name: str, code: ErrorCode
) -> None:
    broker = Broker(tmp_path, authorizer=DenyAll())
    broker.create_topic("t")
    result = describe(broker, kind, name)
    assert (result.error_code, result.configs) == (code, [])
    broker.close()


# ListConfigResources


def listed(broker: Broker, *kinds: int, version: int = 1) -> list[tuple[int, str]]:
    response = broker.ask(ListConfigResourcesRequest(resource_types=list(kinds)), version)
    assert response.error_code == ErrorCode.NONE
    return [(one.resource_type, one.resource_name) for one in response.config_resources]


@pytest.fixture
def populated(broker: Broker) -> Broker:
    broker.create_topic("t")
    set_config(broker, ConfigResource.GROUP, "g", "consumer.session.timeout.ms", "50000")
    set_config(broker, ConfigResource.CLIENT_METRICS, "s", "interval.ms", "1000")
    set_config(broker, BROKER, "", "log.cleaner.threads", "2")
    return broker


def test_everything_with_settings_is_listed(populated: Broker) -> None:
    assert listed(populated) == [(32, "g"), (16, "s"), (8, "1"), (4, "1"), (2, "t")]


def test_only_the_kinds_asked_for_are_listed(populated: Broker) -> None:
    assert listed(populated, TOPIC) == [(2, "t")]
    assert listed(populated, TOPIC, ConfigResource.GROUP) == [(32, "g"), (2, "t")]


def test_version_0_lists_client_metrics_and_nothing_else(populated: Broker) -> None:
    assert listed(populated, version=0) == [(16, "s")]


def test_a_resource_whose_settings_are_gone_is_not_listed(populated: Broker) -> None:
    record = r.ConfigRecord(
        resource_type=ConfigResource.CLIENT_METRICS,
        resource_name="s",
        name="interval.ms",
        value=None,
    )
    populated.plane.apply([record])
    assert listed(populated, ConfigResource.CLIENT_METRICS) == []


@pytest.mark.parametrize("kind", [0, 1, 64, -1])
def test_other_kinds_cannot_be_listed(populated: Broker, kind: int) -> None:
    request = ListConfigResourcesRequest(resource_types=[TOPIC, kind])
    response = populated.ask(request, 1)
    assert response.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert response.config_resources == []
