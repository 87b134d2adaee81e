"""Options and columns of the sink: what is taken, and one sentence for what cannot be right."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from headrace.records.codecs import Codec
from headrace.spark.errors import OptionError
from headrace.spark.sink_columns import HEADERS, check_columns
from headrace.spark.sink_options import SinkOptions

SERVERS = {"kafka.bootstrap.servers": "localhost:9092"}


@dataclass
class Kind:
    """A data type as far as the check looks at it."""

    text: str

    def simpleString(self) -> str:  # noqa: N802 - Spark's name
        return self.text


def schema(**columns: str) -> Any:
    fields = [SimpleNamespace(name=name, dataType=Kind(kind)) for name, kind in columns.items()]
    return SimpleNamespace(fields=fields)


def test_producer_settings_are_read_whatever_their_case() -> None:
    options = SinkOptions.parse(
        {
            "Kafka.Bootstrap.Servers": "localhost:9092",
            "Topic": "orders",
            "kafka.compression.type": "ZSTD",
            "kafka.compression.zstd.level": "7",
            "kafka.batch.size": "1000",
            "kafka.max.request.size": "5000",
            "kafka.delivery.timeout.ms": "9000",
        }
    )
    assert (options.topic, options.codec, options.level) == ("orders", Codec.ZSTD, 7)
    assert options.batch_bytes == 1000
    assert options.send.request_bytes_max == 5000
    assert options.send.delivery_timeout_ms == 9000


def test_a_setting_that_means_nothing_here_is_no_error() -> None:
    SinkOptions.parse({**SERVERS, "kafka.linger.ms": "5", "kafka.acks": "1", "whatever": "x"})


def test_batches_are_never_larger_than_a_request() -> None:
    options = SinkOptions.parse(
        {**SERVERS, "kafka.batch.size": "9000000", "kafka.max.request.size": "1000000"}
    )
    assert options.batch_bytes == 1_000_000


def test_many_partitions_share_the_memory_of_a_few() -> None:
    options = SinkOptions.parse({**SERVERS, "kafka.buffer.memory": "8000000"})
    assert options.capacity(4) == options.batch_bytes
    assert options.capacity(100) == 80_000


def test_without_idempotence_order_is_kept_by_one_request_at_a_time() -> None:
    options = SinkOptions.parse({**SERVERS, "kafka.enable.idempotence": "false"})
    assert not options.idempotent
    assert options.send.in_flight_max == 1


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, "kafka.bootstrap.servers is missing"),
        ({**SERVERS, "kafka.compression.type": "rar"}, "compression.type is one of none, gzip"),
        (
            {**SERVERS, "kafka.compression.type": "gzip", "kafka.compression.gzip.level": "20"},
            "level is a number from 1 to 9, not 20",
        ),
        ({**SERVERS, "kafka.batch.size": "many"}, "kafka.batch.size is a whole number"),
        ({**SERVERS, "kafka.value.serializer": "x"}, "kafka.value.serializer is not supported"),
        ({**SERVERS, "kafka.transactional.id": "x"}, "exactly_once=True"),
        ({**SERVERS, "kafka.security.protocol": "SASL_SSL"}, "security.protocol"),
    ],
)
def test_options_that_cannot_be_right_are_told(
    options: dict[str, str], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KAFKA_BOOTSTRAP_SERVERS", raising=False)
    with pytest.raises(OptionError, match=sentence):
        SinkOptions.parse(options)


def test_the_columns_of_the_kafka_format_are_written_and_others_left_out() -> None:
    found = check_columns(
        schema(
            key="string",
            value="binary",
            headers=HEADERS,
            partition="int",
            timestamp="timestamp",
            offset="bigint",
        ),
        "orders",
    )
    assert sorted(found) == ["headers", "key", "partition", "timestamp", "value"]


def test_the_option_topic_comes_before_the_column() -> None:
    assert check_columns(schema(topic="string", value="string"), "t") == ["value"]
    assert check_columns(schema(topic="string", value="string"), None) == ["topic", "value"]


@pytest.mark.parametrize(
    ("columns", "topic", "sentence"),
    [
        ({"key": "string"}, "t", "no column value, .* it has key"),
        ({"value": "string"}, None, "No topic is given"),
        ({"value": "int"}, "t", "Column value is string or binary, not int"),
        ({"value": "string", "key": "bigint"}, "t", "Column key is string or binary, not bigint"),
        ({"value": "string", "topic": "int"}, None, "Column topic is string, not int"),
        ({"value": "string", "partition": "bigint"}, "t", "Column partition is int, not bigint"),
        ({"value": "string", "headers": "map<string,string>"}, "t", "Column headers is array"),
        ({"value": "string", "timestamp": "bigint"}, "t", "Column timestamp is timestamp"),
    ],
)
def test_columns_that_cannot_be_written_are_told(
    columns: dict[str, str], topic: str | None, sentence: str
) -> None:
    with pytest.raises(OptionError, match=sentence):
        check_columns(schema(**columns), topic)
