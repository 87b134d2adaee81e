"""The short way of committed offsets gives the bytes of the general codec, and reads them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headrace.groups.offset_codec import decode_offset, encode_offset
from headrace.groups.records import OffsetCommitKey, OffsetCommitValue
from headrace.protocol import compiler

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
LONG = st.integers(-(2**63), 2**63 - 1)
INT = st.integers(-(2**31), 2**31 - 1)
KEYS = st.builds(OffsetCommitKey, group=TEXT, topic=TEXT, partition=INT)
VALUES = st.builds(
    OffsetCommitValue,
    offset=LONG,
    leader_epoch=INT,
    metadata=TEXT | st.text("x", min_size=120, max_size=140),
    commit_timestamp=LONG,
    topic_id=st.just(bytes(16)) | st.binary(min_size=16, max_size=16),
)


@given(KEYS, VALUES)
def test_the_bytes_are_those_of_the_general_codec(
    key: OffsetCommitKey, value: OffsetCommitValue
) -> None:
    encoded = encode_offset(key, value)
    if encoded is None:
        assert len(value.metadata.encode()) > 126
        return
    expected = b"\0\1" + compiler.encode(key, 0), b"\0\4" + compiler.encode(value, 4)
    assert encoded == expected
    assert encode_offset(key, None) == (expected[0], None)
    assert decode_offset(*expected) == (key, value)


@given(st.binary(max_size=40), st.binary(max_size=60))
def test_any_bytes_are_read_as_the_general_codec_reads_them_or_left_to_it(
    key: bytes, value: bytes
) -> None:
    key, value = b"\0\1" + key, b"\0\4" + value
    decoded = decode_offset(key, value)
    if decoded is not None:
        assert decoded[0] == compiler.read(OffsetCommitKey, 0, key, 2)[0]
        assert decoded[1] == compiler.read(OffsetCommitValue, 4, value, 2)[0]


def test_an_expiry_of_its_own_needs_another_layout() -> None:
    value = OffsetCommitValue(offset=1, expire_timestamp=5)
    assert encode_offset(OffsetCommitKey(), value) is None
