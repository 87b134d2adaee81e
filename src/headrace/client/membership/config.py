"""The settings of a member of a group, read from Kafka's names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headrace.client.assignors.strategies import DEFAULT_STRATEGIES, Strategy, find_strategies

CLASSIC, CONSUMER = "classic", "consumer"
#: Settings that the broker decides in the new protocol, as Kafka's consumer refuses them.
_CLASSIC_ONLY = (
    "session.timeout.ms",
    "heartbeat.interval.ms",
    "partition.assignment.strategy",
)


@dataclass(frozen=True, slots=True)
class MemberConfig:
    """The names are those of Kafka's consumer settings."""

    group_id: str
    group_instance_id: str | None = None
    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 3_000
    max_poll_interval_ms: int = 300_000
    group_protocol: str = CLASSIC
    group_remote_assignor: str | None = None
    strategies: tuple[Strategy, ...] = DEFAULT_STRATEGIES

    @property
    def is_cooperative(self) -> bool:
        """Only if every assignor that the group may choose allows it, as in Kafka."""
        return all(strategy.is_cooperative for strategy in self.strategies)


def member_config(settings: Mapping[str, str], group: str) -> MemberConfig:
    """The member that these settings describe; `ValueError` says what is wrong with them."""
    protocol = settings.get("group.protocol", CLASSIC).strip().lower()
    if protocol not in (CLASSIC, CONSUMER):
        raise ValueError(f"group.protocol is classic or consumer, not {protocol}.")
    remote_assignor = settings.get("group.remote.assignor")
    if protocol == CONSUMER:
        wrong = [name for name in _CLASSIC_ONLY if name in settings]
    else:
        wrong = ["group.remote.assignor"] if remote_assignor is not None else []
    if wrong:
        raise ValueError(f"{', '.join(wrong)} cannot be set when group.protocol={protocol}.")
    default = MemberConfig(group)
    strategies = settings.get("partition.assignment.strategy")
    return MemberConfig(
        group,
        settings.get("group.instance.id"),
        _milliseconds(settings, "session.timeout.ms", default.session_timeout_ms),
        _milliseconds(settings, "heartbeat.interval.ms", default.heartbeat_interval_ms),
        _milliseconds(settings, "max.poll.interval.ms", default.max_poll_interval_ms),
        protocol,
        remote_assignor,
        default.strategies if strategies is None else find_strategies(strategies),
    )


def _milliseconds(settings: Mapping[str, str], name: str, default: int) -> int:
    text = settings.get(name)
    if text is None:
        return default
    if not text.strip().isdecimal() or int(text) == 0:
        raise ValueError(f"Invalid value {text} for configuration {name}: milliseconds above 0.")
    return int(text)
