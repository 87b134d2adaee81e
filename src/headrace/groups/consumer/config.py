"""The settings of consumer groups (KIP-848): the broker's, and what a group has of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from headrace.base.settings.group import GROUP_SETTINGS

#: The settings that a group may have of its own.
SESSION_TIMEOUT = "consumer.session.timeout.ms"
HEARTBEAT_INTERVAL = "consumer.heartbeat.interval.ms"
ASSIGNMENT_INTERVAL = "consumer.assignment.interval.ms"

#: The dynamic settings of a group by its id, as the cluster's metadata has them.
GroupSettings = Callable[[str], Mapping[str, str]]


class MigrationPolicy(Enum):
    """Between which protocols a group may change while it has members."""

    DISABLED = "disabled"
    UPGRADE = "upgrade"
    DOWNGRADE = "downgrade"
    BIDIRECTIONAL = "bidirectional"

    @property
    def allows_upgrade(self) -> bool:
        return self in (MigrationPolicy.UPGRADE, MigrationPolicy.BIDIRECTIONAL)

    @property
    def allows_downgrade(self) -> bool:
        return self in (MigrationPolicy.DOWNGRADE, MigrationPolicy.BIDIRECTIONAL)


class Bounded(NamedTuple):
    """A setting of the broker that a group may override within limits."""

    default: int
    low: int
    high: int

    def of(self, settings: Mapping[str, str], name: str) -> int:
        """The group's own value, moved into the limits of the broker, which may have changed."""
        text = settings.get(name)
        value = None if text is None else GROUP_SETTINGS[name].stored(text)
        return min(max(value, self.low), self.high) if isinstance(value, int) else self.default


class GroupTiming(NamedTuple):
    """What counts for one group."""

    session_timeout_ms: int
    heartbeat_interval_ms: int
    assignment_interval_ms: int


_SESSION_TIMEOUT_MS = Bounded(45_000, 45_000, 60_000)
_HEARTBEAT_INTERVAL_MS = Bounded(5_000, 5_000, 15_000)
_ASSIGNMENT_INTERVAL_MS = Bounded(1_000, 0, 15_000)


@dataclass(frozen=True, slots=True)
class ConsumerGroupConfig:
    """Defaults are Kafka's."""

    #: Whether `group.coordinator.rebalance.protocols` has the protocol at all.
    is_offered: bool = True
    session_timeout_ms: Bounded = _SESSION_TIMEOUT_MS
    heartbeat_interval_ms: Bounded = _HEARTBEAT_INTERVAL_MS
    #: The least time from one target assignment of a group to the next.
    assignment_interval_ms: Bounded = _ASSIGNMENT_INTERVAL_MS
    members_max: int = 2**31 - 1
    #: The first one serves groups whose members ask for none.
    assignors: tuple[str, ...] = ("uniform", "range")
    migration_policy: MigrationPolicy = MigrationPolicy.BIDIRECTIONAL
    regex_refresh_interval_ms: int = 600_000
    #: Groups with more members and partitions than this are assigned in steps, apart from
    #: heartbeats, and with so many records at a time.
    assigned_at_once_max: int = 4_000
    records_at_once_max: int = 500
    #: Groups with more members than this change their protocol in steps.
    converted_at_once_max: int = 200

    def timing(self, settings: Mapping[str, str]) -> GroupTiming:
        """With the group's own settings."""
        return GroupTiming(
            self.session_timeout_ms.of(settings, SESSION_TIMEOUT),
            self.heartbeat_interval_ms.of(settings, HEARTBEAT_INTERVAL),
            self.assignment_interval_ms.of(settings, ASSIGNMENT_INTERVAL),
        )
