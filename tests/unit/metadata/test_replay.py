"""Batches of the log, and transactions in it."""

from pathlib import Path

import pytest

from headrace.base.checks import InvariantBrokenError
from headrace.metadata import records as r
from headrace.metadata.image import EMPTY_IMAGE
from headrace.metadata.record_codec import AnyRecord, encode_record
from headrace.metadata.replay import Replayer
from headrace.metadata.snapshot import record_batch
from tests.unit.metadata.samples import topic_records

APACHE_LOG = Path(__file__).parent / "data" / "apache-4.3.1-metadata.log"


def batch(*records: AnyRecord, offset: int = 0, epoch: int = 1) -> bytearray:
    values = [encode_record(record) for record in records]
    return record_batch(values, offset=offset, epoch=epoch, timestamp_ms=77)


def test_a_log_of_apache_kafka_becomes_an_image() -> None:
    data = APACHE_LOG.read_bytes()
    replayer = Replayer(EMPTY_IMAGE)
    assert replayer.replay_batches(data) == len(data)
    image, _ = replayer.apply()
    assert (image.offset, image.epoch) == (108, 1)
    assert image.metadata_version == 30
    assert list(image.topics_by_name) == ["t1"]
    assert len(image.topics_by_name["t1"].partitions) == 3
    assert image.topics_by_name["t1"].partitions[0].elr == (1,)
    assert image.config(2, "t1") == {"retention.ms": "12345"}
    assert image.config(4, "") == {"min.insync.replicas": "1", "log.retention.ms": "777"}
    assert [acl.principal for acl in image.acls.values()] == ["User:bob"]
    assert list(image.scram) == [("bob", 1)]
    assert [token.owner for token in image.tokens.values()] == ["User:alice"]
    assert image.quotas[("client-id", None), ("user", "bob")]["consumer_byte_rate"] == 2048
    assert image.brokers[1].epoch == 12
    assert image.brokers[1].fenced
    assert image.controllers[1].endpoints[0].port == 39193


def test_offset_epoch_and_time_are_those_of_the_last_batch() -> None:
    replayer = Replayer(EMPTY_IMAGE)
    replayer.replay_batches(bytes(batch(r.NoOpRecord(), r.NoOpRecord(), offset=40, epoch=3)))
    image, _ = replayer.apply()
    assert (image.offset, image.epoch, image.timestamp_ms) == (41, 3, 77)


def test_a_transaction_counts_only_when_it_ends() -> None:
    replayer = Replayer(EMPTY_IMAGE)
    replayer.replay_batches(bytes(batch(r.BeginTransactionRecord(), *topic_records())))
    assert replayer.transaction is not None
    assert not replayer.apply()[0].topics_by_name
    replayer = Replayer(EMPTY_IMAGE, replayer.transaction)
    replayer.replay_batches(bytes(batch(r.EndTransactionRecord(), offset=3)))
    assert list(replayer.apply()[0].topics_by_name) == ["a"]


def test_an_aborted_transaction_leaves_nothing() -> None:
    replayer = Replayer(EMPTY_IMAGE)
    replayer.replay_batches(
        bytes(batch(r.BeginTransactionRecord(), *topic_records(), r.AbortTransactionRecord()))
    )
    image, changes = replayer.apply()
    assert not image.topics_by_name
    assert not changes
    assert replayer.transaction is None


def test_records_around_a_transaction_count_at_once() -> None:
    replayer = Replayer(EMPTY_IMAGE)
    replayer.replay_batches(bytes(batch(*topic_records(), r.BeginTransactionRecord())))
    assert list(replayer.apply()[0].topics_by_name) == ["a"]


@pytest.mark.parametrize(
    "records",
    [
        [r.EndTransactionRecord()],
        [r.AbortTransactionRecord()],
        [r.BeginTransactionRecord(), r.BeginTransactionRecord()],
    ],
)
def test_transactions_out_of_order_are_a_broken_invariant(records: list[AnyRecord]) -> None:
    with pytest.raises(InvariantBrokenError, match="transaction"):
        Replayer(EMPTY_IMAGE).replay_batches(bytes(batch(*records)))


def test_a_partial_batch_at_the_end_is_left_for_the_next_read() -> None:
    data = bytes(batch(r.NoOpRecord()) + batch(r.NoOpRecord(), offset=1))
    replayer = Replayer(EMPTY_IMAGE)
    assert replayer.replay_batches(data[:-1]) == len(data) // 2
    assert replayer.offset == 0
