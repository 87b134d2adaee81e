import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.base.errors import KafkaError
from headrace.base.java_properties import decode_properties, parse_properties


def read(text: str) -> dict[str, str]:
    return {name: value for _, name, value in parse_properties(text)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=1\nb:2\nc 3\nd\t=\t4\n", {"a": "1", "b": "2", "c": "3", "d": "4"}),
        ("  a = 1  ", {"a": "1  "}),
        ("a==b", {"a": "=b"}),
        ("a = = b", {"a": "= b"}),
        ("a\nb=\n", {"a": "", "b": ""}),
        ("a=1\ra=2\r\na=3", {"a": "3"}),
        ("# x=1\n  ! y=2\n\nz=3 # no comment", {"z": "3 # no comment"}),
        ("a=one,\\\n    two,\\\n\tthree", {"a": "one,two,three"}),
        ("a=one\\\\\nb=2", {"a": "one\\", "b": "2"}),
        ("a=b\\\n# goes on", {"a": "b# goes on"}),
        ("a=b\\\n\nc=d", {"a": "b", "c": "d"}),
        ("a=b\\", {"a": "b"}),
        ("\\\n# nothing begun", {}),
        ("a\\=b\\:c\\ d=1", {"a=b:c d": "1"}),
        ("a=\\t\\n\\r\\f\\q\\\\", {"a": "\t\n\r\fq\\"}),
        ("a=\\u00e9\\u20ac", {"a": "é€"}),
        ("log.dirs=C:\\\\data", {"log.dirs": "C:\\data"}),
        ("a=x\x0by\u2028z", {"a": "x\x0by\u2028z"}),
    ],
)
def test_text_is_read_as_java_reads_it(text: str, expected: dict[str, str]) -> None:
    assert read(text) == expected


def test_an_entry_knows_the_line_it_begins_in() -> None:
    text = "# comment\na=1\\\n  2\n\nb=3\n"
    assert list(parse_properties(text)) == [(2, "a", "12"), (5, "b", "3")]


@pytest.mark.parametrize("text", ["a=\\u12", "a=\\uxyz1", "a\\u=1"])
def test_a_broken_character_escape_is_refused(text: str) -> None:
    with pytest.raises(KafkaError, match="Malformed"):
        read(text)


def test_files_are_utf_8_or_else_latin_1() -> None:
    assert decode_properties("rack=Zürich".encode()) == "rack=Zürich"
    assert decode_properties("rack=Zürich".encode("latin-1")) == "rack=Zürich"


@given(st.text(alphabet="ab=: \t\\\n\r#!u0041é", max_size=60))
def test_any_text_is_either_read_or_refused(text: str) -> None:
    with contextlib.suppress(KafkaError):
        read(text)
