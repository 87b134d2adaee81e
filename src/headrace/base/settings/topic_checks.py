"""Whether a topic's configs are acceptable, each by itself and all together.

The rules see what the topic would have afterwards: its own configs over the broker's defaults.
"""

from collections.abc import Mapping
from typing import NamedTuple

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.settings.definition import parse_all
from headrace.base.settings.topic import TOPIC_SETTINGS
from headrace.base.settings.typed import Values, integer, members
from headrace.base.settings.values import invalid_value

_NOTHING: Mapping[str, str] = {}


class TieredStorage(NamedTuple):
    """What the rules about remote storage need to know beyond the topic's configs."""

    enabled_on_broker: bool = False
    # The topic's configs before the change: remote storage cannot simply be switched off.
    existing: Mapping[str, str] = _NOTHING


def validate_topic_configs(
    configs: Mapping[str, str | None],
    defaults: Mapping[str, str] = _NOTHING,
    tiered: TieredStorage = TieredStorage(),  # noqa: B008 - an immutable tuple
) -> None:
    """Raise `KafkaError(INVALID_CONFIG)` for the first thing wrong with a topic's whole configs.

    `defaults` are the topic settings the broker would give (`topic_defaults`).
    """
    check_topic_names(configs)
    own = {name: text for name, text in configs.items() if text is not None}
    if nameless := [name for name, text in configs.items() if text is None]:
        message = f"Null value not supported for topic configs: {','.join(nameless)}"
        raise KafkaError(ErrorCode.INVALID_CONFIG, message)
    values = parse_all(TOPIC_SETTINGS, {**defaults, **own})
    _check_compaction_lag(values)
    _check_tiered_storage(values, tiered)


def check_topic_names(configs: Mapping[str, str | None]) -> None:
    for name in configs:
        if name not in TOPIC_SETTINGS:
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"Unknown topic config name: {name}")


def _check_compaction_lag(values: Values) -> None:
    low = integer(values, "min.compaction.lag.ms")
    high = integer(values, "max.compaction.lag.ms")
    if low > high:
        message = (
            f"conflict topic config setting min.compaction.lag.ms ({low})"
            f" > max.compaction.lag.ms ({high})"
        )
        raise KafkaError(ErrorCode.INVALID_CONFIG, message)


def _check_tiered_storage(values: Values, tiered: TieredStorage) -> None:
    if not values["remote.storage.enable"]:
        was_enabled = tiered.existing.get("remote.storage.enable", "").strip().lower() == "true"
        if was_enabled and not values["remote.log.delete.on.disable"]:
            raise KafkaError(ErrorCode.INVALID_CONFIG, _SWITCHED_OFF)
        return
    if not tiered.enabled_on_broker:
        message = (
            "Tiered Storage functionality is disabled in the broker."
            " Topic cannot be configured with remote log storage."
        )
        raise KafkaError(ErrorCode.INVALID_CONFIG, message)
    if members(values, "cleanup.policy") not in (("delete",), ()):
        message = (
            "Remote log storage only supports topics with cleanup.policy=delete"
            " or cleanup.policy being an empty list."
        )
        raise KafkaError(ErrorCode.INVALID_CONFIG, message)
    for unit in ("bytes", "ms"):
        _check_local_retention(values, unit)
    if values["remote.log.copy.disable"]:
        for unit in ("bytes", "ms"):
            _check_local_equals_total(values, unit)


def _check_local_retention(values: Values, unit: str) -> None:
    total_name, local_name = f"retention.{unit}", f"local.retention.{unit}"
    total, local = integer(values, total_name), integer(values, local_name)
    if total < 0 or local == -2:
        return
    if local == -1:
        reason = f"Value must not be -1 as {total_name} value is set as {total}."
        raise invalid_value(local_name, local, reason)
    if local > total:
        reason = f"Value must not be more than {total_name} property value: {total}"
        raise invalid_value(local_name, local, reason)


def _check_local_equals_total(values: Values, unit: str) -> None:
    total, local = integer(values, f"retention.{unit}"), integer(values, f"local.retention.{unit}")
    if local not in (-2, total):
        message = (
            f"When `remote.log.copy.disable` is set to true, the `local.retention.{unit}`"
            f" and `retention.{unit}` must be set to the identical value"
            " because there will be no more logs copied to the remote storage."
        )
        raise KafkaError(ErrorCode.INVALID_CONFIG, message)


_SWITCHED_OFF = (
    "It is invalid to disable remote storage without deleting remote data."
    " If you want to keep the remote data and turn to read only, please set"
    " `remote.storage.enable=true,remote.log.copy.disable=true`."
    " If you want to disable remote storage and delete all remote data, please set"
    " `remote.storage.enable=false,remote.log.delete.on.disable=true`."
)
