"""Settings of a log from Kafka's names and texts."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from headrace.base.errors import KafkaError
from headrace.base.settings.definition import Setting
from headrace.base.settings.topic import TOPIC_SETTINGS
from headrace.log.config import INT64_MAX, LogConfig

FACTS = {
    "segment.bytes": ("segment_bytes", "1048576", 1_048_576),
    "retention.ms": ("retention_ms", "-1", -1),
    "min.cleanable.dirty.ratio": ("min_cleanable_dirty_ratio", "0.1", 0.1),
    "unclean.leader.election.enable": ("unclean_leader_election_enable", "TRUE", True),
    "message.timestamp.type": ("message_timestamp_type", "LogAppendTime", "LogAppendTime"),
    "cleanup.policy": ("cleanup_policy", "compact, delete", frozenset({"compact", "delete"})),
}


@pytest.mark.parametrize("name", FACTS)
def test_a_setting_is_read_with_its_type(name: str) -> None:
    field, text, value = FACTS[name]
    assert getattr(LogConfig.from_settings({name: text}), field) == value


def test_settings_that_are_no_logs_business_are_left_alone() -> None:
    assert LogConfig.from_settings({"leader.replication.throttled.replicas": "*"}) == LogConfig()


def test_tests_may_have_segments_smaller_than_the_limit() -> None:
    settings = {"internal.segment.bytes": "1000", "segment.bytes": "1048576"}
    assert LogConfig.from_settings(settings).segment_bytes == 1000


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("segment.ms", "soon"),
        ("unclean.leader.election.enable", "yes"),
        ("compression.type", "brotli"),
        ("cleanup.policy", "delete,burn"),
        ("message.timestamp.type", "Someday"),
    ],
)
def test_a_value_that_cannot_be_read_counts_for_nothing(name: str, text: str) -> None:
    broker = LogConfig(segment_ms=7, unclean_leader_election_enable=True)
    settings = {name: text, "retention.ms": "1"}
    assert LogConfig.from_settings(settings, over=broker) == replace(broker, retention_ms=1)


ODD_VALUES = ("0.5", ".5", "1e-1", "0", "5", "0" * 30 + "5", str(INT64_MAX), "TRUE", "False", "*")
ODD_SPELLINGS = ("{}", "  {} ", "\t{}\n", "+{}", "00{}", "{}f", "{}F", "{}d", "{}D", "{} ,")


def accepted_spellings(setting: Setting) -> Iterator[str]:
    """What may be written for a topic, as far as the checks are concerned."""
    words = getattr(setting.validator, "words", ())
    for value in (setting.default_text or "1", *words, *ODD_VALUES):
        for spelling in ODD_SPELLINGS:
            with suppress(KafkaError):
                text = spelling.format(value)
                setting.parse(text)
                yield text


@pytest.mark.parametrize("name", TOPIC_SETTINGS)
def test_whatever_the_checks_let_a_topic_have_is_read(name: str) -> None:
    setting = TOPIC_SETTINGS[name]
    field = name.replace(".", "_")
    texts = set(accepted_spellings(setting))
    assert len(texts) >= 3
    for text in texts:
        config = LogConfig.from_settings({name: text})
        value = setting.parse(text)
        expected = frozenset(value) if isinstance(value, tuple) else value
        assert getattr(config, field, expected) == expected


def test_every_setting_of_a_log_is_one_of_topics() -> None:
    names = {name.replace(".", "_") for name in TOPIC_SETTINGS}
    assert set(LogConfig.__dataclass_fields__) <= names


def test_segments_may_be_smaller_than_a_limit_that_came_later() -> None:
    assert LogConfig.from_settings({"segment.bytes": "14"}).segment_bytes == 14


def test_what_a_topic_does_not_say_is_as_its_broker_has_it() -> None:
    broker = LogConfig(retention_ms=1, segment_ms=2)
    assert LogConfig.from_settings({"segment.ms": "3"}, over=broker) == LogConfig(
        retention_ms=1, segment_ms=3
    )


def test_policies_are_asked_by_name(tmp_path: Path) -> None:
    both = LogConfig.from_settings({"cleanup.policy": "compact,delete"})
    assert both.compact
    assert both.delete
    assert not LogConfig().compact
    assert LogConfig.from_settings({"message.timestamp.type": "LogAppendTime"}).uses_append_time
