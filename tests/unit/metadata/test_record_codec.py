"""Values of the metadata log."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.metadata import records as r
from headrace.metadata.record_codec import (
    RECORD_TYPES,
    UnknownRecord,
    decode_record,
    encode_record,
    record_version,
)
from headrace.protocol.errors import ProtocolError
from headrace.records.reader import read_records
from tests.support.message_values import sample_messages

APACHE_LOG = Path(__file__).parent / "data" / "apache-4.3.1-metadata.log"


def newest_version(cls: type[r.MetadataRecord]) -> int:
    assert cls.versions.high is not None
    return cls.versions.high


@pytest.mark.parametrize("cls", RECORD_TYPES.values(), ids=lambda cls: cls.__name__)
def test_every_record_type_survives_a_round_trip(cls: type[r.MetadataRecord]) -> None:
    for name, message in sample_messages(cls, newest_version(cls)):
        if record_version(message, 30) != newest_version(cls):  # type: ignore[arg-type]
            continue
        assert decode_record(encode_record(message)) == message, name  # type: ignore[arg-type]


def test_records_that_apache_kafka_wrote_are_written_again_byte_for_byte() -> None:
    seen = set()
    for record in read_records(APACHE_LOG.read_bytes()):
        if record.key is None and record.value is not None:
            decoded = decode_record(record.value)
            assert encode_record(decoded) == record.value
            seen.add(type(decoded).__name__)
    assert len(seen) >= 14


def test_an_unknown_type_is_kept_as_it_is() -> None:
    value = b"\x01\x7f\x02whatever it holds"
    record = decode_record(value)
    assert record == UnknownRecord(127, 2, value)
    assert encode_record(record) == value


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"", "ends inside its frame"),
        (b"\x01", "ends inside its frame"),
        (b"\x02\x0c\x00", "frame version 2"),
        (b"\x01\x02\x05", "no version 5"),
        (b"\x01\x14\x00\x00\x00", "1 bytes over"),
    ],
)
def test_bad_values_are_refused(value: bytes, reason: str) -> None:
    with pytest.raises(ProtocolError, match=reason):
        decode_record(value)


@given(st.binary(max_size=200))
def test_any_bytes_decode_or_are_refused(value: bytes) -> None:
    try:
        record = decode_record(value)
    except ProtocolError:
        return
    assert isinstance(record, UnknownRecord | r.MetadataRecord)


@pytest.mark.parametrize(
    ("level", "partition", "register"),
    [(7, 0, 1), (8, 0, 2), (16, 0, 2), (17, 1, 3), (22, 1, 3), (23, 2, 3), (29, 2, 3), (30, 2, 4)],
)
def test_versions_follow_the_metadata_version(level: int, partition: int, register: int) -> None:
    assert record_version(r.PartitionRecord(), level) == partition
    assert record_version(r.PartitionChangeRecord(), level) == partition
    assert record_version(r.RegisterBrokerRecord(), level) == register


def test_a_registration_change_takes_the_lowest_version_that_can_say_it() -> None:
    change = r.BrokerRegistrationChangeRecord
    assert record_version(change(fenced=1), 30) == 0
    assert record_version(change(in_controlled_shutdown=1), 30) == 1
    assert record_version(change(log_dirs=[bytes(16)]), 30) == 2
    assert record_version(change(cordoned_log_dirs=[]), 30) == 3
