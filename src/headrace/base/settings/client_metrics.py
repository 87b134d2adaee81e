"""The settings of client metrics subscriptions (KIP-714): what clients push, how often, whose."""

import re
from collections.abc import Mapping

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.settings.definition import Setting, by_name
from headrace.base.settings.tables.client_metrics import SETTINGS

CLIENT_METRICS_SETTINGS: dict[str, Setting] = by_name(SETTINGS)

INTERVAL_MS_MIN = 100
INTERVAL_MS_MAX = 3_600_000
_SELECTORS = frozenset(
    {
        "client_instance_id",
        "client_id",
        "client_software_name",
        "client_software_version",
        "client_source_address",
        "client_source_port",
    }
)


def validate_client_metrics_configs(subscription: str, configs: Mapping[str, str]) -> None:
    """Raise `KafkaError` for the first thing wrong with a subscription."""
    if not subscription:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Subscription name can't be empty")
    for name in configs:
        if name not in CLIENT_METRICS_SETTINGS:
            message = f"Unknown client metrics configuration: {name}"
            raise KafkaError(ErrorCode.INVALID_REQUEST, message)
    values = {name: CLIENT_METRICS_SETTINGS[name].parse(text) for name, text in configs.items()}
    interval = values.get("interval.ms")
    if isinstance(interval, int) and not INTERVAL_MS_MIN <= interval <= INTERVAL_MS_MAX:
        message = (
            f"Invalid value {interval} for interval.ms, interval must be between"
            f" {INTERVAL_MS_MIN} and {INTERVAL_MS_MAX} (1 hour)"
        )
        raise KafkaError(ErrorCode.INVALID_REQUEST, message)
    patterns = values.get("match")
    if isinstance(patterns, tuple):
        parse_match(patterns)


def parse_match(entries: tuple[str, ...]) -> dict[str, str]:
    """Selector to pattern; `KafkaError` names the entry that is neither."""
    patterns: dict[str, str] = {}
    for entry in entries:
        selector, equals, pattern = (part.strip() for part in entry.partition("="))
        if not equals or "=" in pattern or not pattern or selector not in _SELECTORS:
            raise _illegal(entry)
        try:
            re.compile(pattern)
        except re.error:
            raise _illegal(entry) from None
        patterns[selector] = pattern
    return patterns


def _illegal(entry: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_CONFIG, f"Illegal client matching pattern: {entry}")
