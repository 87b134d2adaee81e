"""The bytes of the transaction log."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.protocol.errors import ProtocolError
from headrace.transactions.record_codec import TransactionRecordCodec
from headrace.transactions.states import TransactionState
from headrace.transactions.transaction import TopicPartition, Transaction

INT16 = st.integers(-1, 2**15 - 1)
INT32 = st.integers(0, 2**31 - 1)
INT64 = st.integers(-1, 2**63 - 1)
NAMES = st.text(min_size=1, max_size=20)
PARTITIONS = st.frozensets(st.builds(TopicPartition, NAMES, st.integers(0, 2**31 - 1)), max_size=6)


@st.composite
def transactions(draw: st.DrawFn) -> Transaction:
    state = draw(st.sampled_from(TransactionState))
    return Transaction(
        transactional_id=draw(NAMES),
        producer_id=draw(INT64),
        producer_epoch=draw(INT16),
        timeout_ms=draw(INT32),
        state=state,
        partitions=frozenset() if state is TransactionState.EMPTY else draw(PARTITIONS),
        previous_producer_id=draw(INT64),
        next_producer_id=draw(INT64),
        start_ms=draw(INT64),
        last_update_ms=draw(INT64),
        client_version=draw(st.integers(0, 2)),
    )


@given(transactions())
def test_what_is_written_is_read_again(transaction: Transaction) -> None:
    codec = TransactionRecordCodec(lambda: 2)
    key, value = codec.encode(transaction.transactional_id, transaction)
    assert codec.decode(key, value) == (transaction.transactional_id, transaction)


@given(transactions())
def test_version_0_keeps_what_older_brokers_know(transaction: Transaction) -> None:
    codec = TransactionRecordCodec(lambda: 0)
    key, value = codec.encode(transaction.transactional_id, transaction)
    assert value is not None
    assert value[:2] == b"\0\0"
    known = replace(transaction, previous_producer_id=-1, next_producer_id=-1, client_version=0)
    assert codec.decode(key, value) == (transaction.transactional_id, known)


@pytest.mark.parametrize(("level", "version"), [(0, 0), (1, 1), (2, 1)])
def test_transaction_version_decides_the_layout(level: int, version: int) -> None:
    codec = TransactionRecordCodec(lambda: level)
    _, value = codec.encode("t", Transaction("t", 1, 0, 1000))
    assert value is not None
    assert value[:2] == version.to_bytes(2, "big")


def test_the_bytes_are_kafkas() -> None:
    """As `TransactionLog` of Apache Kafka 4.3.1 writes them, which leaves partitions unordered."""
    codec = TransactionRecordCodec(lambda: 2)
    transaction = Transaction(
        "t-1",
        producer_id=7,
        producer_epoch=3,
        timeout_ms=60_000,
        state=TransactionState.ONGOING,
        partitions=frozenset({TopicPartition("a", 0), TopicPartition("a", 2)}),
        previous_producer_id=7,
        start_ms=1_000,
        last_update_ms=2_000,
        client_version=2,
    )
    key, value = codec.encode("t-1", transaction)
    assert key.hex() == "00000003742d31"
    assert value is not None
    assert value.hex() == (
        "0001"  # version
        "0000000000000007"
        "0003"
        "0000ea60"
        "01"
        "02"
        "0261"
        "03"
        "00000000"
        "00000002"
        "00"  # one topic of two partitions
        "00000000000007d0"
        "00000000000003e8"
        "02"
        "00"
        "08"
        "0000000000000007"
        "02"
        "02"
        "0002"  # previous id, client's version
    )


def test_no_value_is_a_tombstone() -> None:
    codec = TransactionRecordCodec(lambda: 2)
    key, value = codec.encode("gone", None)
    assert value is None
    assert codec.decode(key, None) == ("gone", None)


def test_an_empty_transaction_has_no_list_of_partitions() -> None:
    codec = TransactionRecordCodec(lambda: 2)
    _, value = codec.encode("t", Transaction("t", 1, 0, 1000))
    assert value is not None
    assert value[2 + 8 + 2 + 4 + 1] == 0  # null


def test_what_newer_brokers_wrote_is_left_out() -> None:
    codec = TransactionRecordCodec(lambda: 2)
    key, value = codec.encode("t", Transaction("t", 1, 0, 1000))
    assert value is not None
    assert codec.decode(b"\0\7" + key[2:], value) is None
    assert codec.decode(key, b"\0\7" + value[2:]) is None


@given(st.binary(max_size=60), st.none() | st.binary(max_size=60))
def test_garbage_is_an_error_and_nothing_else(key: bytes, value: bytes | None) -> None:
    with suppress(ProtocolError):
        TransactionRecordCodec(lambda: 2).decode(key, value)


def test_a_state_that_does_not_exist_is_an_error() -> None:
    codec = TransactionRecordCodec(lambda: 2)
    key, value = codec.encode("t", Transaction("t", 1, 0, 1000))
    assert value is not None
    wrong = bytearray(value)
    wrong[2 + 8 + 2 + 4] = 99
    with pytest.raises(ProtocolError):
        codec.decode(key, bytes(wrong))
