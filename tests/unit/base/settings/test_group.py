import pytest

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.settings.broker import BROKER_SETTINGS
from headrace.base.settings.group import (
    GROUP_LIMITS,
    GROUP_SETTINGS,
    group_synonym,
    validate_group_configs,
)

BROKER_VALUES = {name: setting.default_value for name, setting in BROKER_SETTINGS.items()}


def test_there_are_as_many_group_settings_as_kafka_has() -> None:
    assert len(GROUP_SETTINGS) == 17
    assert all(setting.documentation.endswith(".") for setting in GROUP_SETTINGS.values())


def test_a_group_setting_has_the_brokers_type_and_default() -> None:
    for name, setting in GROUP_SETTINGS.items():
        synonym = group_synonym(name)
        if synonym is not None:
            assert BROKER_SETTINGS[synonym].type is setting.type
            assert BROKER_SETTINGS[synonym].default == setting.default


def test_limits_name_settings_that_exist() -> None:
    for name, limits in GROUP_LIMITS.items():
        assert name in GROUP_SETTINGS
        assert limits.high in BROKER_SETTINGS
        assert limits.low is None or limits.low in BROKER_SETTINGS


@pytest.mark.parametrize(
    "configs",
    [
        {"consumer.session.timeout.ms": "45000", "consumer.heartbeat.interval.ms": "15000"},
        {"share.auto.offset.reset": "earliest"},
        {"share.auto.offset.reset": "by_duration:P1DT2H3M4.5S"},
        {"share.isolation.level": "read_committed"},
        {"streams.num.standby.replicas": "2"},
    ],
)
def test_configs_within_the_brokers_limits_are_taken(configs: dict[str, str]) -> None:
    validate_group_configs(configs, BROKER_VALUES)


@pytest.mark.parametrize(
    ("configs", "message"),
    [
        ({"foo": "1"}, "Unknown group config name: foo"),
        (
            {"consumer.session.timeout.ms": "10"},
            (
                "consumer.session.timeout.ms must be greater than or equal to"
                " group.consumer.min.session.timeout.ms"
            ),
        ),
        (
            {"share.record.lock.duration.ms": "60001"},
            (
                "share.record.lock.duration.ms must be less than or equal to"
                " group.share.max.record.lock.duration.ms"
            ),
        ),
        (
            {"streams.num.standby.replicas": "3"},
            (
                "streams.num.standby.replicas must be less than or equal to"
                " group.streams.max.standby.replicas"
            ),
        ),
        (
            {"share.delivery.count.limit": "1"},
            (
                "Invalid value 1 for configuration share.delivery.count.limit:"
                " Value must be at least 2"
            ),
        ),
        (
            {"consumer.session.timeout.ms": ""},
            (
                "Invalid value  for configuration consumer.session.timeout.ms:"
                " Not a number of type INT"
            ),
        ),
    ],
)
def test_configs_beyond_the_limits_are_refused(configs: dict[str, str], message: str) -> None:
    with pytest.raises(KafkaError) as caught:
        validate_group_configs(configs, BROKER_VALUES)
    assert caught.value.code is ErrorCode.INVALID_CONFIG
    assert caught.value.message == message


@pytest.mark.parametrize(
    "text", ["x", "EARLIEST", "by_duration", "by_duration:", "by_duration:P", "by_duration:PT-1H"]
)
def test_a_share_group_starts_at_a_place_that_exists(text: str) -> None:
    with pytest.raises(KafkaError, match="The value must be either 'earliest', 'latest' or"):
        validate_group_configs({"share.auto.offset.reset": text}, BROKER_VALUES)


def test_a_session_outlasts_a_heartbeat() -> None:
    relaxed = BROKER_VALUES | {"group.consumer.max.heartbeat.interval.ms": 60_000}
    with pytest.raises(KafkaError, match=r"session\.timeout\.ms must be greater than consumer"):
        validate_group_configs({"consumer.heartbeat.interval.ms": "45000"}, relaxed)
