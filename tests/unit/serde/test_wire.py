"""Prefix, headers and message indexes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.serde.errors import SerdeError
from headrace.serde.wire import (
    find_guid,
    guid_header,
    prefix,
    read_indexes,
    read_prefix,
    write_indexes,
)

GUID = "89791762-2336-4186-9674-299b90a802e2"


@given(st.integers(0, 2**32 - 1))
def test_the_id_comes_back_from_the_prefix(schema_id: int) -> None:
    assert read_prefix(prefix(schema_id) + b"data") == schema_id


def test_another_magic_byte_is_named() -> None:
    with pytest.raises(SerdeError, match="begins with byte 0x7b instead of the magic byte 0x00"):
        read_prefix(b'{"id": 1}')


def test_data_shorter_than_a_prefix_is_refused() -> None:
    with pytest.raises(SerdeError, match="3 bytes long"):
        read_prefix(b"\x00\x00\x00")


@given(st.lists(st.integers(0, 2**30), min_size=1, max_size=20))
def test_message_indexes_come_back(indexes: list[int]) -> None:
    data = write_indexes(indexes)
    assert read_indexes(b"x" + data + b"rest", 1) == (tuple(indexes), 1 + len(data))


def test_the_first_message_of_a_file_is_one_zero_byte() -> None:
    assert write_indexes([0]) == b"\x00"


@given(st.binary(max_size=40))
def test_any_bytes_give_indexes_or_one_clear_failure(data: bytes) -> None:
    try:
        indexes, at = read_indexes(data, 0)
    except SerdeError:
        return
    assert 0 < at <= len(data)
    assert len(indexes) <= 100


def test_the_last_header_of_the_name_wins_and_others_are_left_alone() -> None:
    other = "00000000-0000-0000-0000-000000000001"
    headers = [
        ("__value_schema_id", guid_header(other)),
        ("trace", b"abc"),
        ("__value_schema_id", guid_header(GUID, [1, 2])),
    ]
    assert find_guid(headers, is_key=False) == (GUID, write_indexes([1, 2]))
    assert find_guid(headers, is_key=True) is None


@pytest.mark.parametrize("value", [b"", b"\x01abc", b"\x00" + bytes(16)])
def test_a_header_without_a_guid_is_refused(value: bytes) -> None:
    with pytest.raises(SerdeError, match="__key_schema_id holds no schema GUID"):
        find_guid([("__key_schema_id", value)], is_key=True)
