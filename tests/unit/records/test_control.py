import pytest

from headrace.base.errors import ErrorCode, KafkaError
from headrace.records.batch import check_batch, read_header
from headrace.records.builder import build_batch
from headrace.records.control import (
    ControlType,
    EndTxnMarker,
    control_batch,
    control_batch_of,
    control_key,
    control_type,
    end_txn_batch,
    end_txn_marker,
    read_control_batch,
)
from headrace.records.record import Record
from tests.unit.records.samples import some_records


@pytest.mark.parametrize("committed", [True, False])
def test_a_transaction_marker_comes_back(committed: bool) -> None:
    batch = end_txn_batch(
        EndTxnMarker(committed, coordinator_epoch=31),
        producer_id=4000,
        producer_epoch=7,
        timestamp=99,
        base_offset=1234,
        leader_epoch=5,
    )
    header = read_header(batch)
    check_batch(batch, 0, header)
    assert header.is_control
    assert header.is_transactional
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (4000, 7, -1)
    assert (header.base_offset, header.leader_epoch, header.max_timestamp) == (1234, 5, 99)
    [(kind, record)] = read_control_batch(batch)
    assert kind is (ControlType.COMMIT if committed else ControlType.ABORT)
    assert end_txn_marker(record) == EndTxnMarker(committed, 31)


def test_a_marker_has_the_bytes_that_kafka_writes() -> None:
    batch = end_txn_batch(EndTxnMarker(True, 3), producer_id=1, producer_epoch=0, timestamp=0)
    [(_, record)] = read_control_batch(batch)
    assert record.key == b"\x00\x00\x00\x01"
    assert record.value == b"\x00\x00\x00\x00\x00\x03"


def test_a_snapshot_head_holds_several_control_records() -> None:
    messages = [(ControlType.SNAPSHOT_HEADER, b"one"), (ControlType.KRAFT_VOTERS, b"two")]
    batch = control_batch_of(messages, timestamp=8, base_offset=0)
    assert not read_header(batch).is_transactional
    found = read_control_batch(batch)
    assert [(kind, record.value) for kind, record in found] == messages


def test_other_control_records_are_no_markers() -> None:
    batch = control_batch(ControlType.LEADER_CHANGE, b"\x00", timestamp=8, leader_epoch=2)
    [(kind, record)] = read_control_batch(batch)
    assert kind is ControlType.LEADER_CHANGE
    assert end_txn_marker(record) is None


def test_control_types_of_the_future_are_unknown_not_errors() -> None:
    assert control_type(Record(0, 0, b"\x00\x00\x00\x63", b"")) is ControlType.UNKNOWN
    assert control_type(Record(0, 0, b"\x00\x05\x00\x01more", b"")) is ControlType.COMMIT


@pytest.mark.parametrize("key", [None, b"", b"\x00\x00\x00", b"\xff\xff\x00\x01"])
def test_a_key_that_is_none_is_invalid(key: bytes | None) -> None:
    with pytest.raises(KafkaError) as caught:
        control_type(Record(0, 0, key, b""))
    assert caught.value.code is ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("value", [None, b"", b"\x00" * 5, b"\xff\xff\x00\x00\x00\x00"])
def test_a_marker_whose_value_is_none_is_invalid(value: bytes | None) -> None:
    with pytest.raises(KafkaError) as caught:
        end_txn_marker(Record(0, 0, control_key(ControlType.ABORT), value))
    assert caught.value.code is ErrorCode.INVALID_RECORD


def test_a_data_batch_is_no_control_batch() -> None:
    with pytest.raises(KafkaError):
        read_control_batch(build_batch(some_records(2)))
