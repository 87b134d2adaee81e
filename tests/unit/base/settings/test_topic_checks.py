from collections.abc import Mapping

import pytest

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.settings.topic_checks import TieredStorage, validate_topic_configs

TIERED = TieredStorage(enabled_on_broker=True)
REMOTE = {"remote.storage.enable": "true"}


def refusal(
    configs: Mapping[str, str | None],
    defaults: dict[str, str] | None = None,
    tiered: TieredStorage = TIERED,
) -> str:
    with pytest.raises(KafkaError) as caught:
        validate_topic_configs(configs, defaults or {}, tiered)
    assert caught.value.code is ErrorCode.INVALID_CONFIG
    return caught.value.message


@pytest.mark.parametrize(
    "configs",
    [
        {},
        {"cleanup.policy": ""},
        {"cleanup.policy": "compact,delete"},
        {"retention.ms": "-1", "segment.bytes": "1048576"},
        {"internal.segment.bytes": "100"},
        {"headrace.produce.validation": "deep"},
        {"leader.replication.throttled.replicas": "0:1,1:2"},
        REMOTE,
        REMOTE | {"cleanup.policy": ""},
        REMOTE | {"retention.ms": "50", "local.retention.ms": "50"},
        REMOTE | {"remote.log.copy.disable": "true", "retention.ms": "50"},
    ],
)
def test_configs_that_kafka_takes_are_taken(configs: dict[str, str | None]) -> None:
    validate_topic_configs(configs, {}, TIERED)


@pytest.mark.parametrize(
    ("configs", "message"),
    [
        ({"foo": "1"}, "Unknown topic config name: foo"),
        (
            {"segment.bytes": "5"},
            "Invalid value 5 for configuration segment.bytes: Value must be at least 1048576",
        ),
        (
            {"cleanup.policy": "delete,"},
            "Configuration 'cleanup.policy' values must not be empty.",
        ),
        (
            {"headrace.produce.validation": "some"},
            (
                "Invalid value some for configuration headrace.produce.validation:"
                " String must be one of: header, deep"
            ),
        ),
        ({"retention.ms": None}, "Null value not supported for topic configs: retention.ms"),
        (
            {"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "5"},
            "conflict topic config setting min.compaction.lag.ms (10) > max.compaction.lag.ms (5)",
        ),
    ],
)
def test_bad_configs_are_refused_with_kafkas_sentence(
    configs: dict[str, str | None], message: str
) -> None:
    assert refusal(configs) == message


def test_rules_between_settings_see_the_brokers_defaults() -> None:
    message = refusal({"min.compaction.lag.ms": "10"}, {"max.compaction.lag.ms": "5"})
    assert message.startswith("conflict topic config setting")


def test_tiered_storage_needs_a_broker_that_has_it() -> None:
    assert refusal(REMOTE, tiered=TieredStorage()) == (
        "Tiered Storage functionality is disabled in the broker."
        " Topic cannot be configured with remote log storage."
    )


@pytest.mark.parametrize(
    ("configs", "message"),
    [
        (
            {"cleanup.policy": "compact"},
            (
                "Remote log storage only supports topics with cleanup.policy=delete"
                " or cleanup.policy being an empty list."
            ),
        ),
        (
            {"local.retention.bytes": "100", "retention.bytes": "50"},
            (
                "Invalid value 100 for configuration local.retention.bytes:"
                " Value must not be more than retention.bytes property value: 50"
            ),
        ),
        (
            {"local.retention.ms": "-1", "retention.ms": "50"},
            (
                "Invalid value -1 for configuration local.retention.ms:"
                " Value must not be -1 as retention.ms value is set as 50."
            ),
        ),
        (
            {"remote.log.copy.disable": "true", "local.retention.ms": "10", "retention.ms": "50"},
            (
                "When `remote.log.copy.disable` is set to true, the `local.retention.ms` and"
                " `retention.ms` must be set to the identical value because there will be no more"
                " logs copied to the remote storage."
            ),
        ),
    ],
)
def test_tiered_topics_have_rules_of_their_own(configs: dict[str, str], message: str) -> None:
    assert refusal(REMOTE | configs) == message
    validate_topic_configs(configs)  # a topic that is not tiered may have them all


def test_tiered_storage_is_switched_off_only_together_with_its_data() -> None:
    was_tiered = TieredStorage(enabled_on_broker=True, existing=REMOTE)
    assert refusal({"retention.ms": "5"}, tiered=was_tiered).startswith(
        "It is invalid to disable remote storage without deleting remote data."
    )
    validate_topic_configs({"remote.log.delete.on.disable": "true"}, {}, was_tiered)
