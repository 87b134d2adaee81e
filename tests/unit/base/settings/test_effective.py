from headrace.base.settings.effective import BrokerLayers, ConfigSource, Synonym

DYNAMIC = ConfigSource.DYNAMIC_BROKER_CONFIG
DYNAMIC_DEFAULT = ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
STATIC = ConfigSource.STATIC_BROKER_CONFIG
DEFAULT = ConfigSource.DEFAULT_CONFIG


def test_a_broker_of_its_own_comes_before_all_brokers_before_the_file_before_the_default() -> None:
    layers = BrokerLayers(
        static={"log.segment.bytes": "1000000000"},
        dynamic_default={"log.segment.bytes": "3000000"},
        dynamic={"log.segment.bytes": "2000000"},
    )
    assert layers.values()["log.segment.bytes"] == 2_000_000
    assert layers.synonyms("log.segment.bytes") == (
        Synonym("log.segment.bytes", "2000000", DYNAMIC),
        Synonym("log.segment.bytes", "3000000", DYNAMIC_DEFAULT),
        Synonym("log.segment.bytes", "1000000000", STATIC),
        Synonym("log.segment.bytes", "1073741824", DEFAULT),
    )


def test_a_dynamic_value_replaces_the_other_units_below_it() -> None:
    layers = BrokerLayers(
        static={"log.retention.hours": "10"}, dynamic={"log.retention.ms": "777000"}
    )
    values = layers.values()
    assert values["log.retention.ms"] == 777_000
    assert values["log.retention.hours"] == 168
    assert layers.synonyms("log.retention.ms") == (
        Synonym("log.retention.ms", "777000", DYNAMIC),
        Synonym("log.retention.hours", "10", STATIC),
        Synonym("log.retention.hours", "168", DEFAULT),
    )


def test_a_dynamic_value_leaves_a_setting_alone_that_means_something_else_too() -> None:
    layers = BrokerLayers(
        static={"log.flush.scheduler.interval.ms": "500"},
        dynamic_default={"log.flush.interval.ms": "777"},
    )
    values = layers.values()
    assert values["log.flush.interval.ms"] == 777
    assert values["log.flush.scheduler.interval.ms"] == 500
    assert layers.synonyms("log.flush.interval.ms") == (
        Synonym("log.flush.interval.ms", "777", DYNAMIC_DEFAULT),
        Synonym("log.flush.scheduler.interval.ms", "500", STATIC),
        Synonym("log.flush.scheduler.interval.ms", str(2**63 - 1), DEFAULT),
    )


def test_a_setting_that_only_a_synonym_sets_lists_no_synonyms() -> None:
    layers = BrokerLayers(static={"log.retention.hours": "10"})
    assert layers.synonyms("log.retention.ms") == ()


def test_secrets_and_unknown_names_never_show_their_values() -> None:
    layers = BrokerLayers(
        static={"ssl.key.password": "geheim", "plugin.key": "geheim"},
        dynamic={"listener.name.a.ssl.key.password": "geheim"},
    )
    names = ("ssl.key.password", "plugin.key", "listener.name.a.ssl.key.password")
    found = [synonym for name in names for synonym in layers.synonyms(name)]
    assert len(found) == 4
    assert {synonym.value for synonym in found} == {None}


def test_a_dynamic_value_that_cannot_be_read_counts_for_nothing() -> None:
    layers = BrokerLayers(
        static={"max.connections": "5"}, dynamic_default={"max.connections": "many"}
    )
    assert layers.values()["max.connections"] == 5


def test_a_value_for_one_listener_leaves_the_general_one_alone() -> None:
    layers = BrokerLayers(
        static={"max.connections": "5"}, dynamic={"listener.name.a.max.connections": "3"}
    )
    assert layers.values()["max.connections"] == 5
    assert layers.merged()["listener.name.a.max.connections"] == "3"
    assert [s.name for s in layers.synonyms("listener.name.a.max.connections")] == [
        "listener.name.a.max.connections",
        "max.connections",
        "max.connections",
    ]
