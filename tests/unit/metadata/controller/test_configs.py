"""Changing settings."""

from collections.abc import Mapping

import pytest

from headrace.base.errors import ErrorCode, KafkaError
from headrace.metadata import records as r
from headrace.metadata.controller.configs import (
    ConfigOperation,
    incremental_alter_configs,
    legacy_alter_configs,
)
from headrace.metadata.controller.settings import ControllerSettings
from headrace.metadata.image import ConfigKey, ConfigResource, MetadataImage
from tests.unit.metadata.samples import cluster, replayed, topic_records

TOPIC: ConfigKey = (ConfigResource.TOPIC, "a")
SETTINGS = ControllerSettings(
    is_list_setting=lambda kind, name: name == "cleanup.policy",
    default_setting=lambda kind, name: "delete" if name == "cleanup.policy" else None,
)


def image_with(**configs: str) -> MetadataImage:
    return replayed(
        [
            *topic_records(),
            *(
                r.ConfigRecord(
                    resource_type=2, resource_name="a", name=name.replace("_", "."), value=value
                )
                for name, value in configs.items()
            ),
        ],
        cluster(1),
    )


def alter(
    image: MetadataImage,
    key: ConfigKey,
    name: str,
    operation: int,
    value: str | None,
    settings: ControllerSettings = SETTINGS,
) -> tuple[MetadataImage, KafkaError | None]:
    result = incremental_alter_configs(image, settings, {key: {name: (operation, value)}})
    return replayed(result.records, image), result.reply[key]


def failure(image: MetadataImage, key: ConfigKey, name: str = "x", value: str | None = "1") -> str:
    after, error = alter(image, key, name, ConfigOperation.SET, value)
    assert error is not None
    assert after.configs == image.configs
    return f"{error.code.name}: {error.message}"


def test_set_and_delete() -> None:
    image, error = alter(image_with(), TOPIC, "retention.ms", ConfigOperation.SET, "5")
    assert error is None
    assert image.config(*TOPIC) == {"retention.ms": "5"}
    image, _ = alter(image, TOPIC, "retention.ms", ConfigOperation.DELETE, None)
    assert not image.config(*TOPIC)


def test_the_same_value_again_writes_nothing_for_a_topic() -> None:
    image = image_with(retention_ms="5")
    changes = {TOPIC: {"retention.ms": (ConfigOperation.SET, "5")}}
    assert incremental_alter_configs(image, SETTINGS, changes).records == []


def test_the_same_value_again_is_written_for_a_broker() -> None:
    key: ConfigKey = (ConfigResource.BROKER, "1")
    image, _ = alter(image_with(), key, "log.cleaner.threads", ConfigOperation.SET, "2")
    changes = {key: {"log.cleaner.threads": (ConfigOperation.SET, "2")}}
    assert len(incremental_alter_configs(image, SETTINGS, changes).records) == 1


@pytest.mark.parametrize(
    ("before", "operation", "value", "after"),
    [
        (None, ConfigOperation.APPEND, "compact", "delete,compact"),
        ("compact", ConfigOperation.APPEND, "delete,compact", "compact,delete"),
        ("compact,delete", ConfigOperation.SUBTRACT, "delete", "compact"),
        ("compact", ConfigOperation.SUBTRACT, "delete", "compact"),
        ("compact", ConfigOperation.SUBTRACT, "compact", ""),
    ],
)
def test_lists_grow_and_shrink(before: str | None, operation: int, value: str, after: str) -> None:
    image = image_with() if before is None else image_with(cleanup_policy=before)
    image, error = alter(image, TOPIC, "cleanup.policy", operation, value)
    assert error is None
    assert image.config(*TOPIC)["cleanup.policy"] == after


def test_only_lists_can_be_appended_to() -> None:
    _, error = alter(image_with(), TOPIC, "retention.ms", ConfigOperation.APPEND, "5")
    assert error is not None
    assert (error.code, error.message) == (
        ErrorCode.INVALID_CONFIG,
        "Can't APPEND to key retention.ms because its type is not LIST.",
    )


def test_all_settings_of_the_resource_are_checked_together() -> None:
    seen: list[Mapping[str, str]] = []

    def check(name: str, settings: Mapping[str, str], image: MetadataImage) -> None:
        seen.append(settings)

    settings = ControllerSettings(config_checks={2: check})
    alter(image_with(retention_ms="5"), TOPIC, "segment.ms", ConfigOperation.SET, "6", settings)
    assert seen == [{"retention.ms": "5", "segment.ms": "6"}]


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ((2, "b"), "UNKNOWN_TOPIC_OR_PARTITION: The topic 'b' does not exist."),
        ((2, ""), "INVALID_REQUEST: Default topic resources are not allowed."),
        ((4, "x"), "INVALID_REQUEST: Unable to parse broker name as a base 10 number."),
        ((4, "-1"), "INVALID_REQUEST: Invalid negative broker ID."),
        ((4, "7"), "BROKER_ID_NOT_REGISTERED: No node with id 7 found."),
        ((32, ""), "INVALID_REQUEST: Default group resources are not allowed."),
        ((8, "1"), "INVALID_REQUEST: Unknown resource type 8"),
    ],
)
def test_resources_that_cannot_be(key: ConfigKey, message: str) -> None:
    assert failure(image_with(), key) == message


@pytest.mark.parametrize("key", [(4, ""), (4, "1"), (32, "group"), (16, "subscription")])
def test_resources_that_need_not_exist_before(key: ConfigKey) -> None:
    image, error = alter(image_with(), key, "x", ConfigOperation.SET, "1")
    assert error is None
    assert image.config(*key)["x"] == "1"


def test_a_value_that_is_too_long() -> None:
    assert "maximum value size of 32767" in failure(image_with(), TOPIC, value="x" * 32768)


def test_the_minimum_of_in_sync_replicas_is_guarded_while_elr_is_on() -> None:
    image = image_with()
    name = "min.insync.replicas"
    assert failure(image, (4, "1"), name) == (
        "INVALID_CONFIG: Broker-level min.insync.replicas cannot be altered while ELR is enabled."
    )
    _, error = alter(image, (4, ""), name, ConfigOperation.DELETE, None)
    assert error is not None
    assert "cannot be removed while ELR is enabled" in error.message


@pytest.mark.parametrize(("key", "topic"), [(TOPIC, "a"), ((4, ""), "")])
def test_a_new_minimum_clears_the_eligible_replicas(key: ConfigKey, topic: str) -> None:
    changes = {key: {"min.insync.replicas": (ConfigOperation.SET, "2")}}
    records = incremental_alter_configs(image_with(), SETTINGS, changes).records
    assert records[-1] == r.ClearElrRecord(topic_name=topic)


def test_directories_are_cordoned_by_clusters_that_can_register_that() -> None:
    name = "cordoned.log.dirs"
    _, error = alter(image_with(), (4, "1"), name, ConfigOperation.SET, "*")
    assert error is None
    older = r.FeatureLevelRecord(name="metadata.version", feature_level=29)
    image = replayed([older], image_with())
    for operation in (ConfigOperation.SET, ConfigOperation.DELETE):
        _, error = alter(image, (4, "1"), name, operation, "*")
        assert error is not None
        assert (error.code, error.message) == (
            ErrorCode.INVALID_CONFIG,
            (
                "The cordoned.log.dirs configuration value cannot be set because it requires"
                " metadata.version >= 4.3-IV0"
            ),
        )


def test_the_controller_follows_its_nodes_settings_before_the_clusters() -> None:
    settings = ControllerSettings(node_id=1)
    name = "unclean.leader.election.enable"
    image = image_with()
    assert not settings.allows_unclean_election(image, "a")
    image = replayed(
        [r.ConfigRecord(resource_type=4, resource_name="2", name=name, value="true")], image
    )
    assert not settings.allows_unclean_election(image, "a")
    image, _ = alter(image, (4, ""), name, ConfigOperation.SET, "true")
    assert settings.allows_unclean_election(image, "a")
    image, _ = alter(image, (4, "1"), name, ConfigOperation.SET, "false")
    assert not settings.allows_unclean_election(image, "a")
    image, _ = alter(image, TOPIC, name, ConfigOperation.SET, "true")
    assert settings.allows_unclean_election(image, "a")


def test_blanks_around_a_value_do_not_count_for_the_controller() -> None:
    name = "unclean.leader.election.enable"
    image, _ = alter(image_with(), TOPIC, name, ConfigOperation.SET, " True ")
    assert ControllerSettings().allows_unclean_election(image, "a")
    image, _ = alter(image, TOPIC, "min.insync.replicas", ConfigOperation.SET, " +2 ")
    assert ControllerSettings().effective_min_isr(image, "a", 3) == 2


def test_each_resource_succeeds_or_fails_by_itself() -> None:
    changes = {
        TOPIC: {"retention.ms": (ConfigOperation.SET, "5")},
        (2, "b"): {"retention.ms": (ConfigOperation.SET, "5")},
    }
    result = incremental_alter_configs(image_with(), SETTINGS, changes)
    assert result.reply[TOPIC] is None
    assert result.reply[2, "b"] is not None
    assert len(result.records) == 1


def test_validation_only() -> None:
    changes = {TOPIC: {"retention.ms": (ConfigOperation.SET, "5")}}
    result = incremental_alter_configs(image_with(), SETTINGS, changes, validate_only=True)
    assert (result.records, result.reply) == ([], {TOPIC: None})


def test_the_old_request_replaces_everything() -> None:
    image = image_with(retention_ms="5", segment_ms="6")
    result = legacy_alter_configs(
        image, SETTINGS, {TOPIC: {"segment.ms": "6", "max.message.bytes": "7"}}
    )
    assert result.reply == {TOPIC: None}
    assert replayed(result.records, image).config(*TOPIC) == {
        "segment.ms": "6",
        "max.message.bytes": "7",
    }
    assert len(result.records) == 2
