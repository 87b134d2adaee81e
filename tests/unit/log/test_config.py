"""Settings of a log from Kafka's names and texts."""

from pathlib import Path

import pytest

from headrace.log.config import LogConfig

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
    ("name", "text"), [("segment.ms", "soon"), ("unclean.leader.election.enable", "yes")]
)
def test_a_value_of_the_wrong_type_is_refused_with_its_name(name: str, text: str) -> None:
    with pytest.raises(ValueError, match=name):
        LogConfig.from_settings({name: text})


def test_policies_are_asked_by_name(tmp_path: Path) -> None:
    both = LogConfig.from_settings({"cleanup.policy": "compact,delete"})
    assert both.compact
    assert both.delete
    assert not LogConfig().compact
    assert LogConfig.from_settings({"message.timestamp.type": "LogAppendTime"}).uses_append_time
