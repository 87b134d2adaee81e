from headrace.base.settings.broker import BROKER_SETTINGS
from headrace.base.settings.describe import (
    describe_broker,
    describe_broker_default,
    describe_client_metrics,
    describe_group,
    describe_topic,
)
from headrace.base.settings.effective import BrokerLayers, ConfigEntry, ConfigSource, Synonym
from headrace.base.settings.topic import TOPIC_SETTINGS
from headrace.base.settings.values import SettingType

PLAIN = BrokerLayers()


def entries(described: list[ConfigEntry]) -> dict[str, ConfigEntry]:
    assert [entry.name for entry in described] == sorted(entry.name for entry in described)
    return {entry.name: entry for entry in described}


def test_a_topic_is_told_with_every_setting_and_its_source() -> None:
    layers = BrokerLayers(static={"log.cleanup.policy": "delete, compact"})
    told = entries(describe_topic({"retention.ms": "12345"}, layers))
    assert told.keys() == {name for name, setting in TOPIC_SETTINGS.items() if not setting.internal}
    own = told["retention.ms"]
    assert (own.value, own.source) == ("12345", ConfigSource.DYNAMIC_TOPIC_CONFIG)
    from_file = told["cleanup.policy"]
    assert (from_file.value, from_file.source) == (
        "delete,compact",
        ConfigSource.STATIC_BROKER_CONFIG,
    )
    assert from_file.synonyms == (
        Synonym("log.cleanup.policy", "delete, compact", ConfigSource.STATIC_BROKER_CONFIG),
        Synonym("log.cleanup.policy", "delete", ConfigSource.DEFAULT_CONFIG),
    )
    plain = told["preallocate"]
    assert (plain.value, plain.source, plain.type, plain.read_only, plain.sensitive) == (
        "false",
        ConfigSource.DEFAULT_CONFIG,
        SettingType.BOOLEAN,
        False,
        False,
    )


def test_a_value_that_cannot_be_read_is_told_as_it_is() -> None:
    name, ratio = "min.cleanable.dirty.ratio", "log.cleaner.min.cleanable.ratio"
    told = entries(describe_topic({name: "NaN"}, PLAIN))[name]
    assert (told.value, told.source) == ("NaN", ConfigSource.DYNAMIC_TOPIC_CONFIG)
    layers = BrokerLayers(dynamic_default={ratio: "NaN"})
    assert entries(describe_broker_default(layers))[ratio].value == "NaN"
    # What holds for the broker, and for its topics, is what would hold without.
    assert entries(describe_broker(layers))[ratio].value == "0.5"
    assert entries(describe_topic({}, layers))[name].value == "0.5"
    session = {"consumer.session.timeout.ms": "soon"}
    told = entries(describe_group(session, PLAIN))["consumer.session.timeout.ms"]
    assert told.value == "soon"
    told = entries(describe_client_metrics({"interval.ms": "soon"}))["interval.ms"]
    assert told.value == "soon"


def test_a_topics_own_value_stands_above_the_brokers() -> None:
    layers = BrokerLayers(dynamic_default={"min.insync.replicas": "2"})
    told = entries(describe_topic({"min.insync.replicas": "3"}, layers))
    assert told["min.insync.replicas"].synonyms == (
        Synonym("min.insync.replicas", "3", ConfigSource.DYNAMIC_TOPIC_CONFIG),
        Synonym("min.insync.replicas", "2", ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG),
        Synonym("min.insync.replicas", "1", ConfigSource.DEFAULT_CONFIG),
    )


def test_hours_in_the_file_show_as_a_default_in_milliseconds_as_in_kafka() -> None:
    layers = BrokerLayers(static={"log.retention.hours": "10"})
    told = entries(describe_topic({}, layers))["retention.ms"]
    assert (told.value, told.source, told.synonyms) == (
        "36000000",
        ConfigSource.DEFAULT_CONFIG,
        (),
    )


def test_an_internal_setting_is_told_only_where_somebody_set_it() -> None:
    assert "internal.segment.bytes" not in entries(describe_topic({}, PLAIN))
    told = entries(describe_topic({"internal.segment.bytes": "99"}, PLAIN))
    assert told["internal.segment.bytes"].value == "99"
    assert "log.initial.task.delay.ms" not in entries(describe_broker(PLAIN))


def test_a_broker_is_told_with_every_setting_and_what_else_was_set() -> None:
    layers = BrokerLayers(
        static={"node.id": "1", "ssl.key.password": "geheim", "plugin.key": "geheim"},
        dynamic={"leader.replication.throttled.rate": "100"},
    )
    told = entries(describe_broker(layers))
    shown = {name for name, setting in BROKER_SETTINGS.items() if not setting.internal}
    assert told.keys() == shown | {"plugin.key", "leader.replication.throttled.rate"}
    assert told["node.id"].read_only
    assert not told["log.retention.ms"].read_only
    assert told["log.retention.hours"].read_only
    assert told["ssl.key.password"].value is None
    assert told["ssl.key.password"].sensitive
    assert told["plugin.key"].value is None
    assert told["plugin.key"].type is SettingType.UNKNOWN
    rate = told["leader.replication.throttled.rate"]
    assert (rate.value, rate.source) == ("100", ConfigSource.DYNAMIC_BROKER_CONFIG)


def test_the_default_broker_has_only_what_was_set_for_all() -> None:
    layers = BrokerLayers(
        static={"max.connections": "1"}, dynamic_default={"max.connections": "500"}
    )
    (told,) = describe_broker_default(layers)
    assert told.value == "500"
    assert told.synonyms == (
        Synonym("max.connections", "500", ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG),
    )


def test_a_group_takes_from_the_broker_what_it_does_not_set() -> None:
    layers = BrokerLayers(static={"group.consumer.session.timeout.ms": "50000"})
    told = entries(describe_group({"share.isolation.level": "read_committed"}, layers))
    session = told["consumer.session.timeout.ms"]
    assert (session.value, session.source) == ("50000", ConfigSource.STATIC_BROKER_CONFIG)
    isolation = told["share.isolation.level"]
    assert isolation.source is ConfigSource.DYNAMIC_GROUP_CONFIG
    assert isolation.synonyms[1:] == (
        Synonym("share.isolation.level", "read_uncommitted", ConfigSource.DEFAULT_CONFIG),
    )


def test_a_metrics_subscription_has_three_settings() -> None:
    told = entries(describe_client_metrics({"interval.ms": "5000"}))
    assert [(entry.name, entry.value) for entry in told.values()] == [
        ("interval.ms", "5000"),
        ("match", ""),
        ("metrics", ""),
    ]
    assert told["interval.ms"].source is ConfigSource.DYNAMIC_CLIENT_METRICS_CONFIG


def test_only_the_names_that_were_asked_for_are_told() -> None:
    asked = ["retention.ms", "log.dirs", "no.such.name"]
    assert [entry.name for entry in describe_topic({}, PLAIN, asked)] == ["retention.ms"]
    assert [entry.name for entry in describe_broker(PLAIN, asked)] == ["log.dirs"]
    assert describe_group({}, PLAIN, []) == []
