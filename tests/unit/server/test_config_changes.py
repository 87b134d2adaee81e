"""What the controller asks before it writes settings."""

from collections.abc import Mapping

import pytest

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.settings.typed import Values
from headrace.metadata.image import EMPTY_IMAGE, ConfigKey, ConfigResource, MetadataImage
from headrace.server import part_configs
from headrace.server.config import NodeConfig
from headrace.server.config_changes import config_checks, default_setting, is_list_setting

PLAIN = NodeConfig.for_development("/data", 9092)
BROKER = ConfigResource.BROKER


def refusal(
    name: str, configs: Mapping[str, str], image: MetadataImage = EMPTY_IMAGE
) -> tuple[ErrorCode, str]:
    """Why a broker may not have these settings."""
    with pytest.raises(KafkaError) as refused:
        config_checks(PLAIN)[BROKER](name, configs, image)
    return refused.value.code, refused.value.message


def accept(name: str, configs: Mapping[str, str], image: MetadataImage = EMPTY_IMAGE) -> None:
    config_checks(PLAIN)[BROKER](name, configs, image)


def having(name: str, configs: Mapping[str, str]) -> MetadataImage:
    """The metadata when a broker, or all of them, have settings already."""
    key: ConfigKey = (BROKER, name)
    return MetadataImage(configs={key: configs})


@pytest.mark.parametrize(
    ("resource", "name", "configs"),
    [
        (ConfigResource.TOPIC, "t", {"retention.ms": "x"}),
        (ConfigResource.BROKER, "", {"listeners": "PLAINTEXT://:1"}),
        (ConfigResource.BROKER, "1", {"node.id": "2"}),
        (ConfigResource.BROKER, "", {"metric.reporters": "org.example.Metrics"}),
        (ConfigResource.GROUP, "g", {"consumer.session.timeout.ms": "1"}),
        (ConfigResource.CLIENT_METRICS, "", {"interval.ms": "1000"}),
    ],
)
def test_the_controller_refuses_bad_configs_of_each_kind(
    resource: ConfigResource, name: str, configs: dict[str, str]
) -> None:
    with pytest.raises(KafkaError):
        config_checks(PLAIN)[resource](name, configs, EMPTY_IMAGE)


def test_a_broker_of_its_own_may_get_what_all_together_may_not() -> None:
    accept("1", {"cordoned.log.dirs": "*"})
    code, message = refusal("", {"cordoned.log.dirs": "*"})
    assert code is ErrorCode.INVALID_REQUEST
    assert "broker id must be specified" in message


@pytest.mark.parametrize(
    ("configs", "reason"),
    [
        ({"max.connections.per.ip.overrides": "nonsense"}, "is not of the form name:value"),
        ({"max.connections.per.ip.overrides": "10.0.0.1:many"}, "no number for 10.0.0.1"),
        # Python reads no number of more than 4,300 digits.
        ({"max.connections.per.ip.overrides": "10.0.0.1:" + "1" * 5000}, "no number for 10.0.0.1"),
        ({"max.connections.per.ip": "0"}, "can be set to zero only if"),
        ({"log.cleaner.dedupe.buffer.size": "1"}, "at least 1MB per cleaner thread"),
        ({"log.retention.ms": "0"}, "must be unlimited (-1) or"),
    ],
)
def test_settings_that_a_node_would_not_start_with_are_not_taken_while_it_runs(
    configs: dict[str, str], reason: str
) -> None:
    for name in ("", "1"):
        code, message = refusal(name, configs)
        assert code is ErrorCode.INVALID_REQUEST
        assert reason in message


def test_what_only_a_part_of_the_node_stumbles_over_is_not_taken_either(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def stumble(values: Values) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(part_configs, "maintenance_config", stumble)
    code, message = refusal("", {"log.cleaner.backoff.ms": "5"})
    assert code is ErrorCode.INVALID_REQUEST
    assert "A node cannot run with these settings: ZeroDivisionError" in message


def test_a_directory_that_a_node_does_not_have_cannot_be_cordoned() -> None:
    assert "Missing entries : /other" in refusal("1", {"cordoned.log.dirs": "/other"})[1]
    accept("1", {"cordoned.log.dirs": "/data"})


def test_what_is_set_for_all_and_what_for_one_broker_are_looked_at_together() -> None:
    overrides = {"max.connections.per.ip.overrides": "10.0.0.1:5"}
    accept("1", {"max.connections.per.ip": "0"}, having("", overrides))
    accept("", {"max.connections.per.ip": "0"}, having("1", overrides))
    assert "can be set to zero" in refusal("", {}, having("1", {"max.connections.per.ip": "0"}))[1]
    # What another broker has in its file is not known here.
    accept("2", {"max.connections.per.ip": "0"})


def test_listeners_are_those_of_the_start() -> None:
    listeners = {"listeners": "PLAINTEXT://:1,CONTROLLER://:2"}
    code, message = refusal("1", listeners)
    assert code is ErrorCode.INVALID_REQUEST
    assert "listeners cannot be changed while a node of this version runs" in message
    # Apache Kafka may have left some, which forbids no other change.
    accept("1", {**listeners, "log.cleaner.backoff.ms": "1"}, having("1", listeners))


def test_one_appends_to_lists_only_and_starts_from_the_default() -> None:
    assert is_list_setting(ConfigResource.TOPIC, "cleanup.policy")
    assert not is_list_setting(ConfigResource.TOPIC, "retention.ms")
    assert not is_list_setting(ConfigResource.TOPIC, "no.such.name")
    assert default_setting(ConfigResource.TOPIC, "cleanup.policy") == "delete"
    assert default_setting(ConfigResource.BROKER, "node.id") is None
