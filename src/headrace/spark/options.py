"""The options of `format("headrace")` for reading: the names and rules of Spark's `kafka` format.

Everything is checked where the query is planned, so that a mistake is told in one sentence before
any task starts.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from headrace.client.config import ClientConfig, ClientConfigError
from headrace.spark.durations import parse_duration_ms
from headrace.spark.errors import OptionError
from headrace.spark.offset_specs import (
    EARLIEST_SPEC,
    LATEST_SPEC,
    OffsetSpec,
    parse_assignment,
    parse_offsets,
    parse_timestamp,
    parse_timestamps,
)

#: The brokers of whoever names none, as for all tools.
SERVERS_VARIABLE = "KAFKA_BOOTSTRAP_SERVERS"

_KAFKA = "kafka."

#: Settings of Kafka's consumer that a query decides itself, and what to use instead.
_REFUSED = {
    "auto.offset.reset": "use the option startingOffsets",
    "key.deserializer": "keys are always binary; decode them with DataFrame functions",
    "value.deserializer": "values are always binary; decode them with DataFrame functions",
    "enable.auto.commit": "a query keeps its offsets in its checkpoint",
    "interceptor.classes": "there is no Java consumer that could call them",
}

#: What one Fetch asks for. Larger than a consumer's 1 MB: the work is done per answer.
_FETCH_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Subscription:
    """Which partitions a query reads; exactly one of the three is given."""

    topics: tuple[str, ...] = ()
    pattern: str | None = None
    assigned: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReadSettings:
    """What a task needs to read a range; it travels to the executors."""

    kafka: Mapping[str, str]
    read_committed: bool
    fail_on_data_loss: bool
    fetch_bytes: int
    poll_timeout_ms: int
    #: The schema that values are decoded with while they are read (see registry.read_columns).
    value_reader: str | None = None

    def client_config(self) -> ClientConfig:
        return client_config(self.kafka)


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """The options of a source, checked."""

    subscription: Subscription
    read: ReadSettings
    starting: OffsetSpec
    ending: OffsetSpec
    max_offsets_per_trigger: int | None = None
    min_offsets_per_trigger: int | None = None
    max_trigger_delay_ms: int = 15 * 60_000
    min_partitions: int | None = None
    max_records_per_partition: int | None = None
    include_headers: bool = False
    #: While this file exists on the driver, no new batch begins: that is how a runner lets the
    #: running one end before it stops.
    pause_file: str | None = None
    #: Where a runner keeps where the query began, for a restart before its first batch is finished.
    initial_offsets_file: str | None = None
    fetch_offset_retries: int = 3
    fetch_offset_retry_ms: int = 10

    @classmethod
    def parse(cls, options: Mapping[str, str], *, is_streaming: bool) -> SourceOptions:
        """Check the options of a query; raises OptionError."""
        given = {name.lower(): value for name, value in options.items()}
        subscription = _subscription(given)
        if is_streaming:
            _refuse_endings(given)
        minimum = _count(given, "minOffsetsPerTrigger")
        maximum = _count(given, "maxOffsetsPerTrigger")
        if minimum is not None and maximum is not None and minimum > maximum:
            raise OptionError(
                f"minOffsetsPerTrigger ({minimum}) is larger than maxOffsetsPerTrigger ({maximum})."
            )
        starting = _starting(given, LATEST_SPEC if is_streaming else EARLIEST_SPEC)
        ending = _ending(given)
        if not is_streaming and starting == LATEST_SPEC:
            raise OptionError(
                "startingOffsets can't be latest for batch queries: there would be nothing to read."
            )
        if ending == EARLIEST_SPEC:
            raise OptionError("endingOffsets can't be earliest: there would be nothing to read.")
        return cls(
            subscription=subscription,
            read=_read_settings(given),
            starting=starting,
            ending=ending,
            max_offsets_per_trigger=maximum,
            min_offsets_per_trigger=minimum,
            max_trigger_delay_ms=parse_duration_ms(
                "maxTriggerDelay", given.get("maxtriggerdelay", "15m")
            ),
            min_partitions=_count(given, "minPartitions"),
            max_records_per_partition=_count(given, "maxRecordsPerPartition"),
            include_headers=_flag(given, "includeHeaders", default=False),
            pause_file=given.get("headrace.pause.file"),
            initial_offsets_file=given.get("headrace.initial.offsets.file"),
            fetch_offset_retries=_count(given, "fetchOffset.numRetries") or 3,
            fetch_offset_retry_ms=_count(given, "fetchOffset.retryIntervalMs") or 10,
        )


def kafka_settings(options: Mapping[str, str]) -> dict[str, str]:
    """The `kafka.*` options without their prefix."""
    return {
        name[len(_KAFKA) :]: value
        for name, value in options.items()
        if name.lower().startswith(_KAFKA)
    }


def with_default_servers(settings: Mapping[str, str]) -> dict[str, str]:
    """The settings, with the brokers of the environment if they name none.

    That is what the tools do. The runner puts its own brokers there before Spark starts, since the
    process that plans a query knows nothing of the session's settings.
    """
    known = settings.get("bootstrap.servers", "").strip() or os.environ.get(SERVERS_VARIABLE, "")
    return {**settings, "bootstrap.servers": known} if known else dict(settings)


def client_config(settings: Mapping[str, str]) -> ClientConfig:
    """The client that `kafka.*` options describe; raises OptionError."""
    if not settings.get("bootstrap.servers", "").strip():
        raise OptionError(
            "Option kafka.bootstrap.servers is missing: name a broker, for instance localhost:9092,"
            f" or set the environment variable {SERVERS_VARIABLE}."
        )
    try:
        return ClientConfig.from_settings(settings, client_id="headrace-spark")
    except ClientConfigError as error:
        raise OptionError(str(error)) from None


def _read_settings(given: Mapping[str, str]) -> ReadSettings:
    kafka = with_default_servers(kafka_settings(given))
    for name, instead in _REFUSED.items():
        if name in kafka:
            raise OptionError(f"kafka.{name} is not supported: {instead}.")
    isolation = kafka.get("isolation.level", "read_uncommitted").strip().lower()
    if isolation not in ("read_uncommitted", "read_committed"):
        raise OptionError(
            f"kafka.isolation.level is read_uncommitted or read_committed, not {isolation}."
        )
    client_config(kafka)
    fetch = {f"kafka.{name}": value for name, value in kafka.items()}
    return ReadSettings(
        kafka=kafka,
        read_committed=isolation == "read_committed",
        fail_on_data_loss=_flag(given, "failOnDataLoss", default=True),
        fetch_bytes=_count(fetch, "kafka.max.partition.fetch.bytes") or _FETCH_BYTES,
        poll_timeout_ms=_count(given, "kafkaConsumer.pollTimeoutMs") or 120_000,
        value_reader=given.get("headrace.value.reader"),
    )


def _subscription(given: Mapping[str, str]) -> Subscription:
    chosen = [name for name in ("subscribe", "subscribepattern", "assign") if given.get(name)]
    if len(chosen) != 1:
        raise OptionError("Give exactly one of the options subscribe, subscribePattern and assign.")
    text = given[chosen[0]]
    if chosen == ["assign"]:
        return Subscription(assigned=parse_assignment(text))
    if chosen == ["subscribepattern"]:
        try:
            re.compile(text)
        except re.error as error:
            raise OptionError(
                f"subscribePattern {text!r} is no regular expression: {error}."
            ) from None
        return Subscription(pattern=text)
    topics = tuple(dict.fromkeys(filter(None, (name.strip() for name in text.split(",")))))
    if not topics:
        raise OptionError("Option subscribe names no topic.")
    return Subscription(topics=topics)


def _starting(given: Mapping[str, str], default: OffsetSpec) -> OffsetSpec:
    strategy = given.get("startingoffsetsbytimestampstrategy", "error").strip().lower()
    if strategy not in ("error", "latest"):
        raise OptionError(f"startingOffsetsByTimestampStrategy is error or latest, not {strategy}.")
    spec = _spec(given, "starting", default)
    return spec.with_strategy(latest_if_none=strategy == "latest")


def _ending(given: Mapping[str, str]) -> OffsetSpec:
    # An end beyond the last record of that time is the end of the log.
    return _spec(given, "ending", LATEST_SPEC).with_strategy(latest_if_none=True)


def _spec(given: Mapping[str, str], which: str, default: OffsetSpec) -> OffsetSpec:
    """Spark's order: one timestamp for all, then timestamps, then offsets."""
    if text := given.get(f"{which}timestamp"):
        return parse_timestamp(f"{which}Timestamp", text)
    if text := given.get(f"{which}offsetsbytimestamp"):
        return parse_timestamps(f"{which}OffsetsByTimestamp", text)
    if text := given.get(f"{which}offsets"):
        return parse_offsets(f"{which}Offsets", text)
    return default


def _refuse_endings(given: Mapping[str, str]) -> None:
    for name in ("endingOffsets", "endingOffsetsByTimestamp", "endingTimestamp"):
        if given.get(name.lower()):
            raise OptionError(f"{name} is for batch queries: a streaming query has no end.")


def _count(given: Mapping[str, str], name: str) -> int | None:
    text = given.get(name.lower())
    if text is None:
        return None
    if not text.strip().isdecimal() or int(text) <= 0:
        raise OptionError(f"{name} is a whole number above 0, not {text!r}.")
    return int(text)


def _flag(given: Mapping[str, str], name: str, *, default: bool) -> bool:
    text = given.get(name.lower())
    if text is None:
        return default
    if text.strip().lower() not in ("true", "false"):
        raise OptionError(f"{name} is true or false, not {text!r}.")
    return text.strip().lower() == "true"
