"""The console consumer's formatters for `__consumer_offsets` and `__transaction_state`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headrace.cli.failure import UsageError
from headrace.cli.record_format import find_format, find_json_format
from headrace.client.fetched import FetchedBatch
from headrace.groups import records as groups
from headrace.protocol.compiler import encode
from headrace.protocol.coordinator_record import CoordinatorRecord
from headrace.records.record import Record
from headrace.transactions import records as transactions

BATCH = FetchedBatch(("t", 0), [], 1, "CreateTime", 0)


def record(
    key: CoordinatorRecord, value: CoordinatorRecord | None = None, version: int = 0
) -> Record:
    key_bytes = key.record_type.to_bytes(2, "big") + encode(key, 0)
    value_bytes = None
    if value is not None:
        value_bytes = version.to_bytes(2, "big") + encode(value, version)
    return Record(0, 0, key_bytes, value_bytes, ())


OFFSET_KEY = groups.OffsetCommitKey(group="g", topic="t", partition=1)
GROUP_KEY = groups.GroupMetadataKey(group="g")


def printed(formatter: str, row: Record) -> Any:
    line = find_format(f"org.apache.kafka.tools.consumer.{formatter}", {})(BATCH, row)
    return json.loads(line) if line else None


def test_offsets_are_printed_and_other_records_left_out() -> None:
    value = groups.OffsetCommitValue(offset=9, metadata="m", commit_timestamp=5)
    assert printed("OffsetsMessageFormatter", record(OFFSET_KEY, value, 3)) == {
        "key": {"type": 1, "data": {"group": "g", "topic": "t", "partition": 1}},
        "value": {
            "version": 3,
            "data": {"offset": 9, "leaderEpoch": -1, "metadata": "m", "commitTimestamp": 5},
        },
    }
    assert printed("OffsetsMessageFormatter", record(GROUP_KEY)) is None
    assert printed("OffsetsMessageFormatter", record(OFFSET_KEY))["value"] is None
    assert printed("GroupMetadataMessageFormatter", record(OFFSET_KEY)) is None


def test_groups_and_transactions_are_printed() -> None:
    group = printed("GroupMetadataMessageFormatter", record(GROUP_KEY))
    assert group == {"key": {"type": 2, "data": {"group": "g"}}, "value": None}
    value = transactions.TransactionLogValue(producer_id=4, transaction_partitions=None)
    key = transactions.TransactionLogKey(transactional_id="id")
    document = printed("TransactionLogMessageFormatter", record(key, value, 1))
    assert document["key"]["data"] == {"transactionalId": "id"}
    assert document["value"]["data"]["producerId"] == 4


def test_a_record_that_cannot_be_read_is_told_with_its_offset() -> None:
    broken = Record(77, 0, b"\x00\x01\x00", None, ())
    with pytest.raises(ValueError, match="offset 77"):
        find_format("OffsetsMessageFormatter", {})(BATCH, broken)
    assert find_format("OffsetsMessageFormatter", {})(BATCH, Record(1, 0, None, b"", ())) == b""


def test_documents_are_printed_as_they_are_where_json_is_asked_for() -> None:
    name = "org.apache.kafka.tools.consumer.OffsetsMessageFormatter"
    row = record(OFFSET_KEY)
    assert find_json_format(name, {})(BATCH, row) == find_format(name, {})(BATCH, row)


@pytest.mark.parametrize(
    ("formatter", "properties"),
    [
        ("LoggingMessageFormatter", {}),
        ("io.confluent.kafka.formatter.AvroMessageFormatter", {}),
        ("DefaultMessageFormatter", {"schema.registry.url": "http://registry:8081"}),
        ("DefaultMessageFormatter", {"key.deserializer": "LongDeserializer"}),
    ],
)
def test_what_json_would_leave_out_is_refused(formatter: str, properties: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="-o json and "):
        find_json_format(formatter, properties)
