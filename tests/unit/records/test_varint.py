import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.base.errors import KafkaError
from headrace.records.varint import decode_varint32, decode_varint64, encode_varint


@pytest.mark.parametrize(
    ("number", "encoded"),
    [
        (0, "00"),
        (-1, "01"),
        (1, "02"),
        (63, "7e"),
        (-64, "7f"),
        (64, "8001"),
        (-65, "8101"),
        (8191, "fe7f"),
        (8192, "808001"),
        (2**31 - 1, "feffffff0f"),
        (-(2**31), "ffffffff0f"),
        (2**63 - 1, "feffffffffffffffff01"),
        (-(2**63), "ffffffffffffffffff01"),
    ],
)
def test_known_numbers_have_known_bytes(number: int, encoded: str) -> None:
    assert encode_varint(number).hex() == encoded


@given(st.integers(-(2**31), 2**31 - 1))
def test_32_bit_numbers_come_back(number: int) -> None:
    data = b"x" + encode_varint(number)
    assert decode_varint32(data + b"\xff", 1) == (number, len(data))


@given(st.integers(-(2**63), 2**63 - 1))
def test_64_bit_numbers_come_back(number: int) -> None:
    data = b"x" + encode_varint(number)
    assert decode_varint64(data + b"\xff", 1) == (number, len(data))


def test_bits_beyond_the_type_are_dropped_as_in_java() -> None:
    assert decode_varint32(b"\xff\xff\xff\xff\x7f", 0) == (-(2**31), 5)
    assert decode_varint64(b"\xff" * 9 + b"\x7f", 0) == (-(2**63), 10)


def test_a_number_without_end_is_an_error() -> None:
    with pytest.raises(KafkaError):
        decode_varint32(b"\xff" * 5 + b"\x01", 0)
    with pytest.raises(KafkaError):
        decode_varint64(b"\xff" * 10 + b"\x01", 0)
    with pytest.raises(IndexError):
        decode_varint32(b"\xff\xff", 0)
