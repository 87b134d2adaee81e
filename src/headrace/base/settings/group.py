"""The settings of groups, and the limits that the broker sets them.

A group setting `consumer.session.timeout.ms` takes its default from the broker's
`group.consumer.session.timeout.ms` and must keep within the broker's minimum and maximum.
"""

from collections.abc import Mapping
from typing import NamedTuple

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.settings.definition import Setting, by_name
from headrace.base.settings.tables.group import SETTINGS
from headrace.base.settings.values import Value

GROUP_SETTINGS: dict[str, Setting] = by_name(SETTINGS)
_NO_BROKER_SETTING = frozenset(
    {"share.auto.offset.reset", "share.isolation.level", "share.renew.acknowledge.enable"}
)


class Limits(NamedTuple):
    """Broker settings that hold the least and the greatest value of a group setting."""

    low: str | None
    high: str


def _limits(kind: str, name: str) -> Limits:
    return Limits(f"group.{kind}.min.{name}", f"group.{kind}.max.{name}")


GROUP_LIMITS: dict[str, Limits] = {
    f"{kind}.{name}": _limits(kind, name)
    for kind in ("consumer", "share", "streams")
    for name in ("heartbeat.interval.ms", "session.timeout.ms", "assignment.interval.ms")
} | {
    "share.record.lock.duration.ms": _limits("share", "record.lock.duration.ms"),
    "share.delivery.count.limit": _limits("share", "delivery.count.limit"),
    "share.partition.max.record.locks": _limits("share", "partition.max.record.locks"),
    "streams.num.standby.replicas": Limits(None, "group.streams.max.standby.replicas"),
}


def group_synonym(name: str) -> str | None:
    """The broker setting that a group setting takes its default from."""
    return None if name in _NO_BROKER_SETTING else f"group.{name}"


def validate_group_configs(
    configs: Mapping[str, str | None], broker_values: Mapping[str, Value]
) -> None:
    """Raise `KafkaError(INVALID_CONFIG)` for the first thing wrong with a group's configs."""
    for name in configs:
        if name not in GROUP_SETTINGS:
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"Unknown group config name: {name}")
    if nameless := [name for name, text in configs.items() if text is None]:
        message = f"Null value not supported for group configs: {','.join(nameless)}"
        raise KafkaError(ErrorCode.INVALID_CONFIG, message)
    own = {
        name: GROUP_SETTINGS[name].parse(text) for name, text in configs.items() if text is not None
    }
    for name, value in own.items():
        _check_limits(name, value, broker_values)
    for kind in ("consumer", "share", "streams"):
        _check_session(kind, own, broker_values)


def _check_limits(name: str, value: Value, broker_values: Mapping[str, Value]) -> None:
    limits = GROUP_LIMITS.get(name)
    if limits is None or not isinstance(value, int):
        return
    low = broker_values.get(limits.low) if limits.low else None
    high = broker_values.get(limits.high)
    if isinstance(low, int) and value < low:
        message = f"{name} must be greater than or equal to {limits.low}"
        raise KafkaError(ErrorCode.INVALID_CONFIG, message)
    if isinstance(high, int) and value > high:
        message = f"{name} must be less than or equal to {limits.high}"
        raise KafkaError(ErrorCode.INVALID_CONFIG, message)


def _check_session(kind: str, own: Mapping[str, Value], broker_values: Mapping[str, Value]) -> None:
    session_name, heartbeat_name = f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms"
    session = own.get(session_name, broker_values.get(f"group.{session_name}"))
    heartbeat = own.get(heartbeat_name, broker_values.get(f"group.{heartbeat_name}"))
    if isinstance(session, int) and isinstance(heartbeat, int) and session <= heartbeat:
        message = f"{session_name} must be greater than {heartbeat_name}"
        raise KafkaError(ErrorCode.INVALID_CONFIG, message)
