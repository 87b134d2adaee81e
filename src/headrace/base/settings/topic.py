"""The settings of topics, and the broker settings that are their defaults.

A topic without a value of its own takes the broker's: `retention.ms` is `log.retention.ms`, or
else `log.retention.minutes`, or else `log.retention.hours`, turned into milliseconds.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from headrace.base.settings.definition import Setting, by_name
from headrace.base.settings.tables import headrace
from headrace.base.settings.tables.topic import SETTINGS
from headrace.base.settings.values import Value, format_value

TOPIC_SETTINGS: dict[str, Setting] = by_name(SETTINGS, headrace.TOPIC_SETTINGS)


class BrokerSynonym(NamedTuple):
    """A broker setting and what its number is multiplied with to become the topic's."""

    name: str
    factor: int = 1


_MINUTE_MS = 60_000
_HOUR_MS = 3_600_000

# The first name is the one DescribeConfigs shows; an earlier one wins over a later one.
TOPIC_SYNONYMS: dict[str, tuple[BrokerSynonym, ...]] = {
    "cleanup.policy": (BrokerSynonym("log.cleanup.policy"),),
    "compression.gzip.level": (BrokerSynonym("compression.gzip.level"),),
    "compression.lz4.level": (BrokerSynonym("compression.lz4.level"),),
    "compression.type": (BrokerSynonym("compression.type"),),
    "compression.zstd.level": (BrokerSynonym("compression.zstd.level"),),
    "delete.retention.ms": (BrokerSynonym("log.cleaner.delete.retention.ms"),),
    "file.delete.delay.ms": (BrokerSynonym("log.segment.delete.delay.ms"),),
    "flush.messages": (BrokerSynonym("log.flush.interval.messages"),),
    "flush.ms": (
        BrokerSynonym("log.flush.interval.ms"),
        BrokerSynonym("log.flush.scheduler.interval.ms"),
    ),
    "headrace.produce.validation": (BrokerSynonym("headrace.produce.validation"),),
    "index.interval.bytes": (BrokerSynonym("log.index.interval.bytes"),),
    "local.retention.bytes": (BrokerSynonym("log.local.retention.bytes"),),
    "local.retention.ms": (BrokerSynonym("log.local.retention.ms"),),
    "max.compaction.lag.ms": (BrokerSynonym("log.cleaner.max.compaction.lag.ms"),),
    "max.message.bytes": (BrokerSynonym("message.max.bytes"),),
    "message.timestamp.after.max.ms": (BrokerSynonym("log.message.timestamp.after.max.ms"),),
    "message.timestamp.before.max.ms": (BrokerSynonym("log.message.timestamp.before.max.ms"),),
    "message.timestamp.type": (BrokerSynonym("log.message.timestamp.type"),),
    "min.cleanable.dirty.ratio": (BrokerSynonym("log.cleaner.min.cleanable.ratio"),),
    "min.compaction.lag.ms": (BrokerSynonym("log.cleaner.min.compaction.lag.ms"),),
    "min.insync.replicas": (BrokerSynonym("min.insync.replicas"),),
    "preallocate": (BrokerSynonym("log.preallocate"),),
    "retention.bytes": (BrokerSynonym("log.retention.bytes"),),
    "retention.ms": (
        BrokerSynonym("log.retention.ms"),
        BrokerSynonym("log.retention.minutes", _MINUTE_MS),
        BrokerSynonym("log.retention.hours", _HOUR_MS),
    ),
    "segment.bytes": (BrokerSynonym("log.segment.bytes"),),
    "segment.index.bytes": (BrokerSynonym("log.index.size.max.bytes"),),
    "segment.jitter.ms": (
        BrokerSynonym("log.roll.jitter.ms"),
        BrokerSynonym("log.roll.jitter.hours", _HOUR_MS),
    ),
    "segment.ms": (
        BrokerSynonym("log.roll.ms"),
        BrokerSynonym("log.roll.hours", _HOUR_MS),
    ),
    "unclean.leader.election.enable": (BrokerSynonym("unclean.leader.election.enable"),),
}


def topic_defaults(broker_values: Mapping[str, Value]) -> dict[str, str]:
    """What a topic gets where it says nothing, from a broker's typed values, as text."""
    return {
        name: format_value(value) or ""
        for name in TOPIC_SETTINGS
        if (value := default_for_topic(name, broker_values.get)) is not None
    }


def default_for_topic(name: str, broker_value: Callable[[str], Value]) -> Value:
    """The broker's value for a topic setting, or the setting's own default."""
    for synonym in TOPIC_SYNONYMS.get(name, ()):
        value = broker_value(synonym.name)
        if value is not None:
            return _converted(name, synonym, value)
    return TOPIC_SETTINGS[name].default_value


def _converted(name: str, synonym: BrokerSynonym, value: Value) -> Value:
    if not isinstance(value, int) or isinstance(value, bool):
        return value
    if name == "retention.ms" and value < 0:
        return -1  # any negative time means "for ever", whatever its unit
    return value * synonym.factor
