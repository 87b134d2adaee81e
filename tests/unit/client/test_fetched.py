"""Records out of a Fetch answer: what is left out, and what a bad batch costs."""

from __future__ import annotations

from headrace.client.fetched import read_fetched
from headrace.protocol.messages.fetch import AbortedTransaction, PartitionData
from headrace.records.builder import build_batch
from headrace.records.control import EndTxnMarker, end_txn_batch
from headrace.records.record import Record


def batch(base: int, *values: bytes, producer_id: int = -1) -> bytearray:
    rows = [Record(base + n, 1000 + base + n, None, value) for n, value in enumerate(values)]
    is_txn = producer_id >= 0
    return build_batch(
        rows,
        base_offset=base,
        producer_id=producer_id,
        producer_epoch=0 if is_txn else -1,
        base_sequence=0 if is_txn else -1,
        transactional=is_txn,
    )


def marker(offset: int, producer_id: int, *, committed: bool) -> bytearray:
    return end_txn_batch(
        EndTxnMarker(committed, 0),
        producer_id=producer_id,
        producer_epoch=0,
        timestamp=0,
        base_offset=offset,
    )


def values(data: PartitionData, start: int, *, read_committed: bool = False) -> list[bytes | None]:
    batches = read_fetched(("t", 0), data, start, read_committed=read_committed)
    return [record.value for found in batches for record in found.records]


def test_a_fetch_from_the_middle_of_a_batch_leaves_out_what_is_before() -> None:
    data = PartitionData(records=bytes(batch(0, b"a", b"b", b"c") + batch(3, b"d")))
    assert values(data, 2) == [b"c", b"d"]


def test_a_partial_batch_at_the_end_is_left_for_the_next_fetch() -> None:
    whole, cut = batch(0, b"a"), batch(1, b"b")[:-3]
    data = PartitionData(records=bytes(whole + cut))
    (only,) = read_fetched(("t", 0), data, 0, read_committed=False)
    assert only.next_offset == 1


def test_committed_readers_do_not_see_aborted_data_and_nobody_sees_markers() -> None:
    log = (
        batch(0, b"aborted", producer_id=7)
        + batch(1, b"other", producer_id=8)
        + marker(2, 7, committed=False)
        + batch(3, b"later", producer_id=7)
        + marker(4, 7, committed=True)
        + marker(5, 8, committed=True)
    )
    aborted = [AbortedTransaction(producer_id=7, first_offset=0)]
    data = PartitionData(records=bytes(log), aborted_transactions=aborted)
    assert values(data, 0, read_committed=True) == [b"other", b"later"]
    assert values(data, 0) == [b"aborted", b"other", b"later"]
    last = list(read_fetched(("t", 0), data, 0, read_committed=True))[-1]
    assert last.next_offset == 6


def test_a_bad_batch_has_its_error_and_the_reader_gets_past_it() -> None:
    bad = batch(0, b"x" * 50)
    bad[-1] ^= 0xFF
    data = PartitionData(records=bytes(bad + batch(1, b"fine")))
    first, second = read_fetched(("t", 0), data, 0, read_committed=False)
    assert first.error is not None
    assert first.next_offset == 1
    assert [record.value for record in second.records] == [b"fine"]
