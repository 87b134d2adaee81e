"""Consumer groups (KIP-848) in a node: their settings, and their part of each coordinator."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.settings.typed import Values, integer, members, text
from headrace.groups.config import GroupConfig
from headrace.groups.consumer.assignors.catalog import ASSIGNORS
from headrace.groups.consumer.config import (
    ASSIGNMENT_INTERVAL,
    Bounded,
    ConsumerGroupConfig,
    GroupSettings,
    MigrationPolicy,
)
from headrace.groups.consumer.consumer_groups import ConsumerGroups
from headrace.groups.coordinator import GroupCoordinator
from headrace.groups.group import GroupType
from headrace.groups.topics import Topics
from headrace.metadata.image import ConfigResource, MetadataImage

#: Kafka's classes by the names of the assignors that they are.
_ASSIGNOR_CLASSES = {
    "org.apache.kafka.coordinator.group.assignor.UniformAssignor": "uniform",
    "org.apache.kafka.coordinator.group.assignor.RangeAssignor": "range",
}


def consumer_group_config(values: Values) -> ConsumerGroupConfig:
    return ConsumerGroupConfig(
        is_offered="consumer" in members(values, "group.coordinator.rebalance.protocols"),
        session_timeout_ms=_bounded(values, "session.timeout.ms"),
        heartbeat_interval_ms=_bounded(values, "heartbeat.interval.ms"),
        assignment_interval_ms=_bounded(values, "assignment.interval.ms"),
        members_max=integer(values, "group.consumer.max.size"),
        assignors=tuple(_assignor(name) for name in members(values, "group.consumer.assignors")),
        migration_policy=MigrationPolicy(text(values, "group.consumer.migration.policy").lower()),
        regex_refresh_interval_ms=integer(values, "group.consumer.regex.refresh.interval.ms"),
    )


def add_consumer_groups(
    coordinator: GroupCoordinator,
    config: ConsumerGroupConfig,
    classic_config: GroupConfig,
    settings: GroupSettings,
    topics: Topics,
    new_id: Callable[[], str],
) -> GroupCoordinator:
    """Give a coordinator the part that looks after consumer groups."""
    part = ConsumerGroups(
        config,
        settings,
        coordinator.groups,
        topics,
        coordinator.classic,
        classic_config.members_max,
        new_id,
    )
    coordinator.add(part, GroupType.CONSUMER)
    return coordinator


def group_settings(
    image: Callable[[], MetadataImage],
    broker_values: Callable[[], Values],
    config: ConsumerGroupConfig,
) -> GroupSettings:
    """A group's own settings, over the one that may be changed for its broker at runtime."""

    def settings(group_id: str) -> Mapping[str, str]:
        own = image().config(ConfigResource.GROUP, group_id)
        interval = integer(broker_values(), f"group.{ASSIGNMENT_INTERVAL}")
        if interval == config.assignment_interval_ms.default:
            return own
        return {ASSIGNMENT_INTERVAL: str(interval), **own}

    return settings


def _bounded(values: Values, name: str) -> Bounded:
    return Bounded(
        integer(values, f"group.consumer.{name}"),
        integer(values, f"group.consumer.min.{name}"),
        integer(values, f"group.consumer.max.{name}"),
    )


def _assignor(name: str) -> str:
    known = _ASSIGNOR_CLASSES.get(name, name)
    if known not in ASSIGNORS:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            f"Invalid value {name} for configuration group.consumer.assignors: only"
            f" {', '.join(ASSIGNORS)} are there.",
        )
    return known
