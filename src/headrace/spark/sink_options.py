"""The options of `format("headrace")` for writing: `topic`, and Kafka's producer settings.

`kafka.*` options have the producer's names. Those that mean nothing here (linger.ms, say) are
taken without effect, so that a job which wrote through Spark's `kafka` format runs as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headrace.client.config import ClientConfig
from headrace.client.send_config import IN_FLIGHT_MAX, SendConfig
from headrace.records.codecs import LEVELS, Codec
from headrace.spark.errors import OptionError
from headrace.spark.options import client_config, kafka_settings, with_default_servers

#: Settings of Kafka's producer that cannot be the user's here, and what to do instead.
_REFUSED = {
    "key.serializer": "keys are binary or string; make them so with DataFrame functions",
    "value.serializer": "values are binary or string; make them so with DataFrame functions",
    "partitioner.class": "give the column partition to choose partitions yourself",
    "transactional.id": "use to_topic(..., exactly_once=True)",
}

#: Larger than a producer's 16 KB: records arrive by the ten thousand.
_BATCH_BYTES = 512 * 1024
_BATCH_BYTES_MIN = 16 * 1024
_REQUEST_BYTES = 1024 * 1024
_BUFFER_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class SinkOptions:
    """What a task needs to write; it travels to the executors."""

    topic: str | None
    kafka: Mapping[str, str]
    send: SendConfig
    codec: int = Codec.NONE
    level: int | None = None
    batch_bytes: int = _BATCH_BYTES
    buffer_bytes: int = _BUFFER_BYTES
    max_block_ms: int = 60_000
    idempotent: bool = True

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> SinkOptions:
        """Check the options of a write; raises OptionError."""
        given = {name.lower(): value for name, value in options.items()}
        kafka = with_default_servers(kafka_settings(given))
        for name, instead in _REFUSED.items():
            if name in kafka:
                raise OptionError(f"kafka.{name} is not supported: {instead}.")
        client_config(kafka)
        codec = _codec(kafka)
        idempotent = kafka.get("enable.idempotence", "true").strip().lower() != "false"
        request_bytes = _number(kafka, "max.request.size", _REQUEST_BYTES)
        in_flight = _number(kafka, "max.in.flight.requests.per.connection", IN_FLIGHT_MAX)
        return cls(
            topic=given.get("topic", "").strip() or None,
            kafka=kafka,
            send=SendConfig(
                request_timeout_ms=_number(kafka, "request.timeout.ms", 30_000),
                delivery_timeout_ms=_number(kafka, "delivery.timeout.ms", 120_000),
                request_bytes_max=request_bytes,
                # Without sequences, order is kept by waiting for each answer.
                in_flight_max=min(in_flight, IN_FLIGHT_MAX) if idempotent else 1,
            ),
            codec=codec,
            level=_level(kafka, codec),
            batch_bytes=min(_number(kafka, "batch.size", _BATCH_BYTES), request_bytes),
            buffer_bytes=_number(kafka, "buffer.memory", _BUFFER_BYTES),
            max_block_ms=_number(kafka, "max.block.ms", 60_000),
            idempotent=idempotent,
        )

    def client_config(self) -> ClientConfig:
        return client_config(self.kafka)

    def capacity(self, partitions: int) -> int:
        """How large batches may grow while all partitions have one open."""
        share = self.buffer_bytes // max(partitions, 1)
        return max(min(self.batch_bytes, share), _BATCH_BYTES_MIN)


def _codec(kafka: Mapping[str, str]) -> int:
    name = kafka.get("compression.type", "none").strip().lower()
    names = {codec.name.lower(): codec for codec in Codec}
    if name not in names:
        raise OptionError(f"kafka.compression.type is one of {', '.join(names)}, not {name}.")
    return names[name]


def _level(kafka: Mapping[str, str], codec: int) -> int | None:
    kind = Codec(codec)
    text = kafka.get(f"compression.{kind.name.lower()}.level")
    if text is None or kind not in LEVELS:
        return None
    lowest, highest = LEVELS[kind]
    try:
        level = int(text)
    except ValueError:
        level = highest + 1
    if level != -1 and not lowest <= level <= highest:
        raise OptionError(
            f"kafka.compression.{kind.name.lower()}.level is a number from {lowest} to {highest},"
            f" not {text}."
        )
    return None if level == -1 and kind is Codec.GZIP else level


def _number(kafka: Mapping[str, str], name: str, default: int) -> int:
    text = kafka.get(name)
    if text is None:
        return default
    if not text.strip().isdecimal() or int(text) <= 0:
        raise OptionError(f"kafka.{name} is a whole number above 0, not {text!r}.")
    return int(text)
