"""Lines as records, as Kafka's line reader sees them."""

from __future__ import annotations

import os
import threading

import pytest

from headrace.cli.failure import CommandFailedError
from headrace.cli.input_lines import read_lines
from headrace.cli.line_reader import LineReader


def test_a_line_is_a_value_by_default() -> None:
    record = LineReader({}).parse(b"key\tvalue")
    assert (record.key, record.value, record.headers) == (None, b"key\tvalue", [])


def test_keys_headers_and_nulls() -> None:
    reader = LineReader({"parse.key": "true", "parse.headers": "true", "null.marker": "NULL"})
    record = reader.parse(b"h1:v1,h2:NULL\tkey0\tvalue0")
    assert record.headers == [("h1", b"v1"), ("h2", None)]
    assert (record.key, record.value) == (b"key0", b"value0")
    record = reader.parse(b"NULL\tNULL\tNULL")
    assert (record.key, record.value, record.headers) == (None, None, [])


def test_own_separators_and_bytes_that_are_no_text() -> None:
    reader = LineReader({"parse.key": "TRUE", "key.separator": "::"})
    record = reader.parse(b"\xff\xfe::a::b")
    assert (record.key, record.value) == (b"\xff\xfe", b"a::b")


def test_a_line_that_does_not_fit_says_which_one() -> None:
    reader = LineReader({"parse.key": "true"})
    reader.parse(b"a\tb")
    with pytest.raises(CommandFailedError, match="No key separator found on line number 2: 'oops'"):
        reader.parse(b"oops")


def test_errors_can_be_ignored() -> None:
    reader = LineReader({"parse.key": "true", "parse.headers": "true", "ignore.error": "true"})
    record = reader.parse(b"just a value")
    assert (record.key, record.value, record.headers) == (None, b"just a value", [])
    assert reader.parse(b"h\tk\tv").headers == [("h", None)]


@pytest.mark.parametrize(
    "properties",
    [
        {"headers.delimiter": ","},
        {"headers.separator": ":"},
        {"null.marker": "\t"},
        {"null.marker": ","},
    ],
)
def test_separators_that_cannot_be_told_apart_are_refused(properties: dict[str, str]) -> None:
    with pytest.raises(CommandFailedError, match="may not be equal"):
        LineReader(properties)


def lines_of(data: bytes) -> list[bytes | None]:
    reading, writing = os.pipe()
    try:
        os.write(writing, data)
        os.close(writing)
        return list(read_lines(reading, 1000))
    finally:
        os.close(reading)


def test_lines_end_as_java_ends_them() -> None:
    assert lines_of(b"a\nb\r\nc\rd") == [b"a", b"b", b"c", b"d"]
    assert lines_of(b"\n\nx\n") == [b"", b"", b"x"]
    assert lines_of(b"") == []


def test_a_pause_after_a_line_is_told_once() -> None:
    reading, writing = os.pipe()
    lines = read_lines(reading, 1)
    os.write(writing, b"first\n")
    assert next(lines) == b"first"
    assert next(lines) is None

    def write_the_rest() -> None:
        os.write(writing, b"second")
        os.close(writing)

    later = threading.Thread(target=write_the_rest)
    later.start()
    assert list(lines) == [b"second"]
    later.join()
    os.close(reading)


def test_a_separator_that_is_no_regular_expression() -> None:
    with pytest.raises(CommandFailedError, match=r"headers\.separator .* '\[' is none: untermin"):
        LineReader({"parse.headers": "true", "headers.separator": "["})
