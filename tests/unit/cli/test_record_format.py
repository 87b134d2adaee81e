"""How records are printed."""

from __future__ import annotations

import json
import struct

import pytest

from headrace.cli.failure import CommandFailedError
from headrace.cli.java_values import java_number
from headrace.cli.record_format import DefaultFormat, find_deserializer, find_format, json_format
from headrace.client.fetched import FetchedBatch
from headrace.records.record import Record

BATCH = FetchedBatch(("t", 3), [], 8, "CreateTime", 5)
RECORD = Record(7, 1700, b"k", b"v", [("h1", b"x"), ("h2", None)])
BARE = Record(8, 1701, None, None)


def test_only_the_value_is_printed_by_default() -> None:
    assert DefaultFormat({})(BATCH, RECORD) == b"v\n"
    assert DefaultFormat({})(BATCH, BARE) == b"null\n"


def test_all_columns_in_kafkas_order() -> None:
    names = ("timestamp", "partition", "offset", "delivery", "epoch", "headers", "key")
    everything = DefaultFormat({f"print.{name}": "true" for name in names})
    assert everything(BATCH, RECORD) == (
        b"CreateTime:1700\tPartition:3\tOffset:7\tDelivery:NOT_PRESENT\tEpoch:5"
        b"\th1:x,h2:null\tk\tv\n"
    )
    assert b"\tNO_HEADERS\tnull\tnull\n" in everything(BATCH, BARE)


def test_separators_and_literals() -> None:
    custom = DefaultFormat(
        {
            "print.key": "true",
            "print.value": "false",
            "print.headers": "true",
            "key.separator": "|",
            "line.separator": ";",
            "headers.separator": "+",
            "null.literal": "-",
        }
    )
    assert custom(BATCH, RECORD) == b"h1:x+h2:-|k;"


def test_numbers_are_deserialized() -> None:
    name = "org.apache.kafka.common.serialization.LongDeserializer"
    longs = DefaultFormat({"value.deserializer": name})
    assert longs(BATCH, Record(0, 0, None, struct.pack(">q", -5))) == b"-5\n"
    with pytest.raises(ValueError, match="Size of data received by LongDeserializer is not 8"):
        longs(BATCH, Record(0, 0, None, b"short"))
    with pytest.raises(CommandFailedError, match="is a Java class"):
        find_deserializer("com.example.MyDeserializer")


def test_json_keeps_what_is_no_text() -> None:
    line = json_format(BATCH, Record(1, 2, b"\xff", None, [("h", b"x")]))
    document = json.loads(line)
    assert document["key"] == {"base64": "/w=="}
    assert document["value"] is None
    assert document["headers"] == [{"key": "h", "value": "x"}]


def test_formatters_are_found_by_kafkas_names() -> None:
    name = "org.apache.kafka.tools.consumer."
    assert find_format(name + "NoOpMessageFormatter", {})(BATCH, RECORD) == b""
    assert find_format("kafka.tools.DefaultMessageFormatter", {})(BATCH, RECORD) == b"v\n"
    with pytest.raises(CommandFailedError):
        find_format(name + "NoSuchMessageFormatter", {})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1.0"),
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (123456.789, "123456.789"),
        (9999999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (0.001, "0.001"),
        (0.00012, "1.2E-4"),
        (1.5e300, "1.5E300"),
        (float("nan"), "NaN"),
        (float("-inf"), "-Infinity"),
        (42, "42"),
    ],
)
def test_numbers_look_as_java_prints_them(value: float, text: str) -> None:
    assert java_number(value) == text


def test_a_float_has_as_few_digits_as_it_needs() -> None:
    stored = struct.unpack(">f", struct.pack(">f", 0.1))[0]
    assert java_number(stored, single=True) == "0.1"
