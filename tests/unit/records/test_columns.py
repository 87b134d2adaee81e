"""Both implementations of columns, plain and compiled, under the same tests."""

from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.base.errors import ErrorCode, KafkaError
from headrace.records import columns, columns_numba
from headrace.records.batch import iter_headers, read_header
from headrace.records.builder import build_batch
from headrace.records.column_types import BatchFields, Columns, Slices
from headrace.records.control import EndTxnMarker, end_txn_batch
from headrace.records.reader import read_batch
from headrace.records.record import Record
from headrace.records.spans import BadBatchError
from tests.unit.records.samples import (
    CODECS,
    record_lists,
    renew_crc,
    some_records,
    three_batches,
)

pytestmark = pytest.mark.parametrize(
    "implementation", [columns, columns_numba], ids=["plain", "compiled"]
)


def records_of(table: Columns) -> list[Record]:
    return [table.record(row) for row in range(len(table))]


def offsets_of(table: Columns) -> list[int]:
    return [int(table.offsets[row]) for row in range(len(table))]


def damaged(base_offset: int) -> bytes:
    """A batch whose header and checksum are sound and whose records are not."""
    batch = build_batch(some_records(10, base_offset), base_offset=base_offset)
    batch[61] = 0x7E
    return bytes(renew_crc(batch))


@given(first=record_lists(), second=record_lists(base_offset=5000, gaps=True), data=st.data())
def test_records_come_back_as_columns_from_any_mixture_of_codecs(
    implementation: ModuleType, first: list[Record], second: list[Record], data: st.DataObject
) -> None:
    codecs = data.draw(st.tuples(st.sampled_from(CODECS), st.sampled_from(CODECS)))
    buffer = build_batch(first, codec=codecs[0])
    buffer += build_batch(second, base_offset=5000, codec=codecs[1])
    table = implementation.decode(buffer)
    assert records_of(table) == first + second
    assert list(table.batch_rows) == [0, len(first), len(first) + len(second)]
    assert table.consumed == len(buffer)
    assert table.next_offset == second[-1].offset + 1


@given(records=record_lists(base_offset=77, gaps=True), codec=st.sampled_from(CODECS))
def test_encoded_columns_are_the_batch_that_the_builder_makes(
    implementation: ModuleType, records: list[Record], codec: int
) -> None:
    batch = build_batch(records, base_offset=records[0].offset, codec=codec)
    assert implementation.encode(implementation.decode(batch), 0, None, BatchFields(codec)) == batch


def test_both_implementations_take_each_others_columns(implementation: ModuleType) -> None:
    other = columns if implementation is columns_numba else columns_numba
    table = other.decode(three_batches(3))
    batch = implementation.encode(table, 5, 25)
    assert read_batch(batch) == records_of(table)[5:25]
    assert read_header(batch).base_offset == 105


def test_batch_fields_reach_the_header(implementation: ModuleType) -> None:
    fields = BatchFields(
        codec=4,
        level=7,
        leader_epoch=6,
        producer_id=11,
        producer_epoch=3,
        base_sequence=21,
        transactional=True,
    )
    header = read_header(implementation.encode(columns.decode(three_batches()), 10, 20, fields))
    assert (header.codec, header.leader_epoch, header.is_transactional) == (4, 6, True)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (11, 3, 21)
    assert (header.base_offset, header.last_offset, header.record_count) == (110, 119, 10)


def test_columns_may_be_made_of_separate_buffers(implementation: ModuleType) -> None:
    table = Columns(
        offsets=[0, 1],
        timestamps=[50, 40],
        keys=Slices(b"ab", [0, 1], [1, -1]),
        values=Slices(b"xxyyy", [0, 2], [2, 3]),
        headers=Slices(b"", [0, 0], [0, -1]),
    )
    batch = implementation.encode(table)
    assert read_batch(batch) == [Record(0, 50, b"a", b"xx", []), Record(1, 40, None, b"yyy", [])]
    assert read_header(batch).max_timestamp == 50


@pytest.mark.parametrize(("start", "stop"), [(0, 0), (5, 4), (-1, 3), (0, 31), (30, None)])
def test_rows_that_are_not_there_cannot_be_encoded(
    implementation: ModuleType, start: int, stop: int | None
) -> None:
    table = columns.decode(three_batches())
    with pytest.raises(KafkaError):
        implementation.encode(table, start, stop)


def test_offsets_must_rise_to_be_encoded(implementation: ModuleType) -> None:
    nulls = Slices(b"", [0, 0], [-1, -1])
    with pytest.raises(KafkaError):
        implementation.encode(Columns([3, 3], [0, 0], nulls, nulls, nulls))


@pytest.mark.parametrize("codec", [0, 3])
@pytest.mark.parametrize(
    ("start", "end"), [(0, None), (100, 130), (105, 118), (110, 120), (129, None), (104, 105)]
)
def test_a_range_of_offsets_may_begin_and_end_inside_batches(
    implementation: ModuleType, codec: int, start: int, end: int | None
) -> None:
    table = implementation.decode(three_batches(codec), start_offset=start, end_offset=end)
    stop = 130 if end is None else end
    assert offsets_of(table) == list(range(max(start, 100), stop))
    assert table.batch_rows[-1] == len(table)


def test_a_buffer_without_whole_batches_gives_empty_columns(implementation: ModuleType) -> None:
    for buffer in (b"", three_batches()[:50], three_batches()[:100]):
        table = implementation.decode(buffer)
        assert (len(table), table.consumed, table.next_offset) == (0, 0, -1)


def test_a_partial_batch_at_the_end_is_left_for_the_next_time(implementation: ModuleType) -> None:
    buffer = three_batches(4)
    third = list(iter_headers(buffer))[2][0]
    table = implementation.decode(buffer[: third + 80])
    assert (table.consumed, table.next_offset, len(table)) == (third, 120, 20)


def test_batches_are_chosen_by_header_before_they_are_opened(implementation: ModuleType) -> None:
    marker = end_txn_batch(
        EndTxnMarker(True, 0), producer_id=1, producer_epoch=0, timestamp=0, base_offset=130
    )
    unreadable = bytearray(build_batch(some_records(3, 131), base_offset=131, codec=4))
    unreadable[70] ^= 0xFF
    table = implementation.decode(
        three_batches() + marker + bytes(unreadable),
        keep=lambda header: header.base_offset < 130 and header.base_offset != 110,
    )
    assert offsets_of(table) == [*range(100, 110), *range(120, 130)]
    assert [header.base_offset for header in table.batches] == [100, 120]
    assert table.next_offset == 134


def test_a_bad_batch_is_told_only_after_all_before_it_was_given(
    implementation: ModuleType,
) -> None:
    buffer = three_batches() + damaged(130) + bytes(build_batch(some_records(2, 140)))
    table = implementation.decode(buffer)
    assert offsets_of(table) == list(range(100, 130))
    assert (table.next_offset, table.consumed) == (130, len(three_batches()))
    with pytest.raises(BadBatchError) as caught:
        implementation.decode(buffer[table.consumed :])
    assert (caught.value.base_offset, caught.value.next_offset) == (130, 140)
    assert caught.value.code is ErrorCode.INVALID_RECORD


def test_a_batch_that_lies_about_its_range_does_not_send_a_reader_back(
    implementation: ModuleType,
) -> None:
    batch = build_batch(some_records(3, 50), base_offset=50)
    batch[23:27] = b"\xff\xff\xff\xf0"
    with pytest.raises(BadBatchError) as caught:
        implementation.decode(renew_crc(batch), start_offset=0)
    assert caught.value.next_offset == 51


def test_the_limit_stops_before_a_batch_and_refuses_one_that_never_fits(
    implementation: ModuleType,
) -> None:
    def packed(base: int, size: int) -> bytes:
        record = Record(base, 0, None, bytes(size))
        return bytes(build_batch([record], base_offset=base, codec=4))

    buffer = packed(0, 60_000) + packed(1, 60_000) + packed(2, 200_000)
    table = implementation.decode(buffer, limit=100_000)
    assert (offsets_of(table), table.next_offset) == ([0], 1)
    table = implementation.decode(buffer, limit=250_000)
    assert (offsets_of(table), table.next_offset) == ([0, 1], 2)
    with pytest.raises(BadBatchError) as caught:
        implementation.decode(packed(2, 200_000), limit=100_000)
    assert caught.value.code is ErrorCode.MESSAGE_TOO_LARGE


def test_a_count_that_the_bytes_cannot_hold_allocates_nothing(implementation: ModuleType) -> None:
    batch = build_batch(some_records(3), codec=3)
    batch[23:27] = (2**31 - 2).to_bytes(4, "big")
    batch[57:61] = (2**31 - 1).to_bytes(4, "big")
    with pytest.raises(BadBatchError):
        implementation.decode(renew_crc(batch))


def test_packed_bytes_are_laid_out_as_arrow_wants_them(implementation: ModuleType) -> None:
    table = columns.decode(three_batches(2))
    offsets, data = implementation.pack(table.values)
    values = [table.values[row] for row in range(len(table))]
    assert bytes(data) == b"".join(value or b"" for value in values)
    assert len(offsets) == len(table) + 1
    for row, value in enumerate(values):
        assert bytes(data[offsets[row] : offsets[row + 1]]) == (value or b"")
    empty = implementation.pack(Slices(b"", [], []))
    assert (list(empty[0]), bytes(empty[1])) == ([0], b"")
