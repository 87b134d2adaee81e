"""From the broker's settings to those of consumer groups."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from headrace.base.errors import ErrorCode, KafkaError
from headrace.groups.consumer.config import Bounded, ConsumerGroupConfig, MigrationPolicy
from headrace.metadata.image import ConfigResource, MetadataImage
from headrace.server.config import NodeConfig
from headrace.server.consumer_groups import consumer_group_config, group_settings
from headrace.server.settings_in_force import SettingsInForce


def config_of(tmp_path: Path, **overrides: str) -> ConsumerGroupConfig:
    given = {name.replace("_", "."): value for name, value in overrides.items()}
    return consumer_group_config(NodeConfig.for_development(str(tmp_path), overrides=given).values)


def test_the_defaults_are_those_of_the_part_itself(tmp_path: Path) -> None:
    assert config_of(tmp_path) == ConsumerGroupConfig()


def test_every_setting_arrives(tmp_path: Path) -> None:
    config = config_of(
        tmp_path,
        group_coordinator_rebalance_protocols="classic",
        group_consumer_session_timeout_ms="46000",
        group_consumer_max_session_timeout_ms="50000",
        group_consumer_heartbeat_interval_ms="6000",
        group_consumer_assignment_interval_ms="0",
        group_consumer_max_size="7",
        group_consumer_migration_policy="Upgrade",
        group_consumer_assignors="org.apache.kafka.coordinator.group.assignor.RangeAssignor",
    )
    assert config == ConsumerGroupConfig(
        is_offered=False,
        session_timeout_ms=Bounded(46_000, 45_000, 50_000),
        heartbeat_interval_ms=Bounded(6_000, 5_000, 15_000),
        assignment_interval_ms=Bounded(0, 0, 15_000),
        members_max=7,
        migration_policy=MigrationPolicy.UPGRADE,
        assignors=("range",),
    )


def test_an_assignor_that_is_not_there_is_refused_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(KafkaError) as refusal:
        config_of(tmp_path, group_consumer_assignors="uniform,com.example.Mine")
    assert refusal.value.code is ErrorCode.INVALID_CONFIG
    assert "com.example.Mine" in (refusal.value.message or "")


def test_a_group_may_differ_from_its_broker_and_that_from_the_cluster_and_the_file() -> None:
    configs: dict[Any, Mapping[str, str]] = {}

    def image() -> MetadataImage:
        return MetadataImage(configs=dict(configs))

    in_force = SettingsInForce(NodeConfig.for_development("/data"))
    config = ConsumerGroupConfig()
    settings = group_settings(image, lambda: in_force.values(image()), config)
    assert config.timing(settings("g")).assignment_interval_ms == 1_000
    configs[ConfigResource.BROKER, ""] = {"group.consumer.assignment.interval.ms": "2000"}
    assert config.timing(settings("g")).assignment_interval_ms == 2_000
    configs[ConfigResource.GROUP, "g"] = {
        "consumer.assignment.interval.ms": "3000",
        "consumer.session.timeout.ms": "50000",
    }
    timing = config.timing(settings("g"))
    assert (timing.assignment_interval_ms, timing.session_timeout_ms) == (3_000, 50_000)
    assert config.timing(settings("other")).assignment_interval_ms == 2_000
    configs[ConfigResource.BROKER, "1"] = {"group.consumer.assignment.interval.ms": "2500"}
    configs[ConfigResource.BROKER, "2"] = {"group.consumer.assignment.interval.ms": "9000"}
    assert config.timing(settings("other")).assignment_interval_ms == 2_500
    assert config.timing(settings("g")).assignment_interval_ms == 3_000
    # What is not in force for the rest of the broker is not for its groups.
    configs[ConfigResource.BROKER, "1"] = {
        "group.consumer.assignment.interval.ms": "2500",
        "max.connections.per.ip": "0",
    }
    assert config.timing(settings("other")).assignment_interval_ms == 1_000
    configs[ConfigResource.BROKER, "1"] = {"group.consumer.assignment.interval.ms": "soon"}
    assert config.timing(settings("other")).assignment_interval_ms == 2_000


def test_a_setting_of_a_group_that_cannot_be_read_counts_for_nothing() -> None:
    own = {"consumer.session.timeout.ms": "soon", "consumer.heartbeat.interval.ms": "6000"}
    timing = ConsumerGroupConfig().timing(own)
    assert (timing.session_timeout_ms, timing.heartbeat_interval_ms) == (45_000, 6_000)
