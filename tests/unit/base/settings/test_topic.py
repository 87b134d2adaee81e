from headrace.base.settings.broker import BROKER_SETTINGS
from headrace.base.settings.definition import Importance
from headrace.base.settings.topic import TOPIC_SETTINGS, TOPIC_SYNONYMS, topic_defaults
from headrace.base.settings.values import Value
from headrace.log.config import LogConfig


def broker_values(**changes: Value) -> dict[str, Value]:
    values = {name: setting.default_value for name, setting in BROKER_SETTINGS.items()}
    return values | {name.replace("_", "."): value for name, value in changes.items()}


def test_there_are_as_many_topic_settings_as_kafka_has_and_one_of_our_own() -> None:
    public = [name for name, setting in TOPIC_SETTINGS.items() if not setting.internal]
    assert len(public) == 33 + 1
    assert [name for name in public if name.startswith("headrace.")] == [
        "headrace.produce.validation"
    ]


def test_all_topic_settings_are_of_medium_importance_and_documented() -> None:
    for setting in TOPIC_SETTINGS.values():
        assert setting.importance is Importance.MEDIUM
        assert setting.documentation.endswith(".")


def test_every_default_satisfies_its_own_validator() -> None:
    for setting in TOPIC_SETTINGS.values():
        if setting.default_text is not None:
            assert setting.parse(setting.default_text) == setting.default_value


def test_a_broker_that_sets_nothing_gives_topics_their_own_defaults() -> None:
    defaults = topic_defaults(broker_values())
    for name, setting in TOPIC_SETTINGS.items():
        assert defaults.get(name) == setting.default_text, name


def test_synonyms_are_settings_of_topics_and_brokers() -> None:
    for name, synonyms in TOPIC_SYNONYMS.items():
        assert name in TOPIC_SETTINGS
        assert all(synonym.name in BROKER_SETTINGS for synonym in synonyms)


def test_hours_and_minutes_become_milliseconds_and_the_finer_unit_wins() -> None:
    hours = broker_values(log_retention_hours=10)
    minutes = hours | {"log.retention.minutes": 5}
    milliseconds = minutes | {"log.retention.ms": 7}
    assert topic_defaults(hours)["retention.ms"] == "36000000"
    assert topic_defaults(minutes)["retention.ms"] == "300000"
    assert topic_defaults(milliseconds)["retention.ms"] == "7"
    assert topic_defaults(broker_values(log_roll_hours=2))["segment.ms"] == "7200000"
    assert topic_defaults(broker_values(log_roll_jitter_hours=1))["segment.jitter.ms"] == "3600000"


def test_any_negative_retention_time_means_for_ever() -> None:
    assert topic_defaults(broker_values(log_retention_hours=-5))["retention.ms"] == "-1"


def test_flush_time_falls_back_to_the_scheduler_interval() -> None:
    values = broker_values(log_flush_scheduler_interval_ms=1000)
    assert topic_defaults(values)["flush.ms"] == "1000"
    values["log.flush.interval.ms"] = 50
    assert topic_defaults(values)["flush.ms"] == "50"


def test_the_defaults_are_what_a_log_takes() -> None:
    assert LogConfig.from_settings(topic_defaults(broker_values())) == LogConfig()
