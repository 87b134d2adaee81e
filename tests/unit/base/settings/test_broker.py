from collections import Counter

import pytest

from headrace.base.settings.broker import (
    BROKER_SETTINGS,
    DYNAMIC_ONLY_SETTINGS,
    broker_synonyms,
    find_broker_setting,
    is_dynamic,
)
from headrace.base.settings.definition import Setting, UpdateMode
from headrace.base.settings.values import SettingType

KAFKAS = [
    setting
    for setting in BROKER_SETTINGS.values()
    if not setting.internal and not setting.name.startswith("headrace.")
]


def test_there_are_as_many_settings_of_each_type_as_kafka_has() -> None:
    assert len(KAFKAS) == 340
    assert Counter(setting.type.name for setting in KAFKAS) == {
        "INT": 171,
        "STRING": 50,
        "LONG": 48,
        "LIST": 22,
        "BOOLEAN": 15,
        "CLASS": 11,
        "PASSWORD": 10,
        "DOUBLE": 7,
        "SHORT": 6,
    }


def test_as_many_settings_may_change_while_brokers_run_as_in_kafka() -> None:
    modes = Counter(setting.update_mode for setting in KAFKAS)
    assert modes[UpdateMode.CLUSTER_WIDE] + len(DYNAMIC_ONLY_SETTINGS) == 65
    assert modes[UpdateMode.PER_BROKER] == 37


def test_every_default_satisfies_its_own_validator() -> None:
    for setting in BROKER_SETTINGS.values():
        if setting.default_text is not None:
            assert setting.parse(setting.default_text) == setting.default_value, setting.name


def test_every_setting_says_in_a_sentence_what_it_does() -> None:
    for setting in [*BROKER_SETTINGS.values(), *DYNAMIC_ONLY_SETTINGS.values()]:
        assert setting.documentation[0].isupper() or setting.documentation[0] == '"'
        assert setting.documentation.endswith("."), setting.name
        assert len(setting.documentation) > 10, setting.name


def test_only_three_settings_have_to_be_set() -> None:
    required = [name for name, setting in BROKER_SETTINGS.items() if setting.required]
    assert required == ["controller.listener.names", "node.id", "process.roles"]


@pytest.mark.parametrize(
    ("name", "kind", "default"),
    [
        ("log.dirs", SettingType.LIST, None),
        ("log.segment.bytes", SettingType.INT, "1073741824"),
        ("listeners", SettingType.LIST, "PLAINTEXT://:9092"),
        ("log.cleaner.io.max.bytes.per.second", SettingType.DOUBLE, "1.7976931348623157E308"),
        ("offsets.topic.replication.factor", SettingType.SHORT, "3"),
        ("auto.create.topics.enable", SettingType.BOOLEAN, "true"),
        ("group.consumer.assignors", SettingType.LIST, "uniform,range"),
        ("controller.quorum.voters", SettingType.LIST, ""),
        ("max.connections.per.ip", SettingType.INT, "2147483647"),
        ("log.flush.interval.messages", SettingType.LONG, "9223372036854775807"),
    ],
)
def test_types_and_defaults_are_kafkas(name: str, kind: SettingType, default: str | None) -> None:
    setting = BROKER_SETTINGS[name]
    assert setting.type is kind
    assert setting.default_text == default


def test_the_finer_unit_of_a_time_comes_first() -> None:
    retention = ("log.retention.ms", "log.retention.minutes", "log.retention.hours")
    assert broker_synonyms("log.retention.hours") == retention
    assert broker_synonyms("log.roll.ms") == ("log.roll.ms", "log.roll.hours")
    assert broker_synonyms("log.flush.scheduler.interval.ms") == (
        "log.flush.scheduler.interval.ms",
    )
    assert broker_synonyms("node.id") == ("node.id",)


@pytest.mark.parametrize(
    ("name", "base"),
    [
        ("listener.name.internal.max.connections", "max.connections"),
        ("listener.name.internal.ssl.keystore.location", "ssl.keystore.location"),
        ("listener.name.internal.scram-sha-256.sasl.jaas.config", "sasl.jaas.config"),
    ],
)
def test_a_setting_of_one_listener_stands_on_the_general_one(name: str, base: str) -> None:
    assert broker_synonyms(name) == (name, base)
    assert find_broker_setting(name) is BROKER_SETTINGS[base]


@pytest.mark.parametrize("name", ["foo", "listener.name.foo", "listener.name.a.foo", ""])
def test_an_unknown_name_has_no_setting(name: str) -> None:
    assert find_broker_setting(name) is None
    assert not is_dynamic(name)


def test_throttles_are_known_but_not_from_a_file() -> None:
    rate = find_broker_setting("leader.replication.throttled.rate")
    assert isinstance(rate, Setting)
    assert rate.name not in BROKER_SETTINGS
    assert is_dynamic(rate.name)
