"""Records of a stream, however the chunks cut them."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.rest.v3.record_stream import BadRecordStream, RecordStream

#: Beyond 64 bits integers are read as floating point numbers (docs/rest-proxy.md).
INTEGERS = st.integers(-(2**63), 2**64 - 1)
VALUES = st.dictionaries(st.text(max_size=3), INTEGERS | st.text(max_size=5), max_size=3)


def read(data: bytes, cuts: list[int], limit: int = 10_000) -> list[Any]:
    stream = RecordStream(limit)
    found = []
    at = 0
    for cut in sorted(cuts):
        found += stream.feed(data[at : max(at, cut)])
        at = max(at, cut)
    return found + stream.feed(data[at:]) + stream.finish()


@given(
    st.lists(VALUES, max_size=8),
    st.sampled_from(["", "\n", "\r\n", " \n\n"]),
    st.sampled_from([None, 2]),
    st.lists(st.integers(0, 300), max_size=5),
)
def test_values_come_out_as_they_went_in(
    values: list[Any], between: str, indent: int | None, cuts: list[int]
) -> None:
    text = between.join(json.dumps(one, indent=indent, ensure_ascii=False) for one in values)
    assert read(text.encode(), cuts) == values


@given(st.lists(VALUES, max_size=5), st.lists(st.integers(0, 200), max_size=3))
def test_an_array_is_its_elements(values: list[Any], cuts: list[int]) -> None:
    assert read(json.dumps(values).encode(), cuts) == values


@given(st.binary(max_size=80), st.lists(st.integers(0, 80), max_size=3))
def test_any_bytes_are_values_or_one_failure(data: bytes, cuts: list[int]) -> None:
    try:
        read(data, cuts)
    except BadRecordStream as error:
        assert isinstance(error.values, list)  # noqa: PT017 - or it may be values


def test_a_record_without_an_end_is_not_kept_for_ever() -> None:
    with pytest.raises(BadRecordStream, match="larger than 1000 bytes"):
        read(b'{"a": "' + b"x" * 5000, list(range(0, 5000, 100)), limit=1000)


def test_values_before_nonsense_are_told() -> None:
    stream = RecordStream(1000)
    with pytest.raises(BadRecordStream) as caught:
        stream.feed(b'{"a": 1} {"b": 2} nonsense')
    assert caught.value.values == [{"a": 1}, {"b": 2}]
