"""Columns into open batches: the same bytes as the plain builder, the same partitions as Java."""

import random
from collections.abc import Sequence

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("numba")

from headrace.client.partitioner import murmur2, partition_for_key  # noqa: E402
from headrace.records import append_kernels  # noqa: E402
from headrace.records.batch import check_batch, read_header  # noqa: E402
from headrace.records.builder import build_batch  # noqa: E402
from headrace.records.codecs import Codec  # noqa: E402
from headrace.records.open_batches import NOT_GIVEN, Blobs, OpenBatches, Rows  # noqa: E402
from headrace.records.producer_stamp import stamp_producer  # noqa: E402
from headrace.records.reader import read_batch  # noqa: E402
from headrace.records.record import Header, Record  # noqa: E402


def blobs(values: Sequence[bytes | None]) -> Blobs:
    lengths = np.array([-1 if v is None else len(v) for v in values], np.int64)
    positions = np.zeros(len(values), np.int64)
    np.cumsum(np.maximum(lengths, 0)[:-1], out=positions[1:])
    data = np.frombuffer(b"".join(v or b"" for v in values), np.uint8)
    return Blobs(data, positions, lengths)


def rows_of(records: Sequence[Record], partitions: Sequence[int] = ()) -> Rows:
    headers: list[Header] = [header for record in records for header in record.headers]
    counts = np.array([len(record.headers) for record in records], np.int64)
    return Rows(
        topics=np.zeros(len(records), np.int64),
        partitions=np.array(partitions or [NOT_GIVEN] * len(records), np.int64),
        timestamps=np.array([record.timestamp for record in records], np.int64),
        keys=blobs([record.key for record in records]),
        values=blobs([record.value for record in records]),
        headers=np.cumsum(counts) - counts,
        header_counts=counts,
        header_names=blobs([name.encode() for name, _ in headers]),
        header_values=blobs([value for _, value in headers]),
    )


def some_records(count: int, seed: int = 7) -> list[Record]:
    chance = random.Random(seed)
    found = []
    for number in range(count):
        key = None if chance.random() < 0.2 else chance.randbytes(chance.randrange(0, 9))
        value = None if chance.random() < 0.1 else chance.randbytes(chance.randrange(0, 200))
        headers = [
            (f"h{n}", None if chance.random() < 0.3 else chance.randbytes(n)) for n in range(2)
        ][: chance.randrange(0, 3)]
        timestamp = 1_700_000_000_000 + chance.randrange(-5_000, 5_000)
        found.append(Record(number, timestamp, key, value, headers))
    return found


@pytest.mark.parametrize("codec", list(Codec))
def test_a_closed_batch_is_what_the_plain_builder_makes(codec: Codec) -> None:
    records = some_records(300)
    rows = rows_of(records)
    batches = OpenBatches(1, 1 << 20)
    done = batches.append(rows, 0, np.zeros(len(rows), np.int64), np.zeros(1, np.int64))
    assert done == len(records)
    assert batches.filled() == [0]
    batch = batches.close(0, codec)
    stamp_producer(batch, 9, 3, 77, transactional=True)
    check_batch(batch, 0, read_header(batch))
    expected = build_batch(
        records,
        codec=codec,
        producer_id=9,
        producer_epoch=3,
        base_sequence=77,
        transactional=True,
    )
    if codec == Codec.NONE:
        assert batch == expected
    assert list(read_batch(batch)) == list(read_batch(expected))
    assert batches.filled() == []


def test_rows_that_do_not_fit_wait_until_their_batch_is_closed() -> None:
    records = some_records(500)
    rows = rows_of(records)
    batches = OpenBatches(1, 2_000)
    targets, sticky = np.zeros(len(rows), np.int64), np.zeros(1, np.int64)
    row, read = 0, []
    while (row := batches.append(rows, row, targets, sticky)) < len(rows):
        batch = batches.close(0)
        assert len(batch) <= 2_000
        stamp_producer(batch, -1, -1, -1)
        read += list(read_batch(batch))
    stamped = batches.close(0)
    stamp_producer(stamped, -1, -1, -1)
    read += list(read_batch(stamped))
    assert [(r.timestamp, r.key, r.value, list(r.headers)) for r in read] == [
        (r.timestamp, r.key, r.value, list(r.headers)) for r in records
    ]


def test_a_row_larger_than_a_batch_is_left_to_the_caller_and_can_be_taken_out_alone() -> None:
    record = Record(0, 5, b"k", b"x" * 500, [("h", b"v")])
    rows = rows_of([record])
    batches = OpenBatches(1, 200)
    assert batches.append(rows, 0, np.zeros(1, np.int64), np.zeros(1, np.int64)) == 0
    assert batches.count(0) == 0
    assert rows.record(0) == record


def test_the_compiled_hash_is_that_of_every_client() -> None:
    chance = random.Random(3)
    for length in range(40):
        data = chance.randbytes(length)
        array = np.frombuffer(b"??" + data, np.uint8)
        assert append_kernels.murmur2(array, 2, length) == murmur2(data)


def test_keys_choose_targets_as_the_client_does_and_given_partitions_come_first() -> None:
    records = some_records(200)
    given = [3 if number % 5 == 0 else NOT_GIVEN for number in range(200)]
    rows = rows_of(records, given)
    targets, bad = rows.targets(np.array([10], np.int64), np.array([4], np.int64))
    assert bad == -1
    for record, partition, target in zip(records, given, targets.tolist(), strict=True):
        if partition != NOT_GIVEN:
            assert target == 13
        elif record.key is None:
            assert target == -1
        else:
            assert target == 10 + partition_for_key(record.key, 4)


@pytest.mark.parametrize("partition", [4, -2])
def test_a_partition_that_the_topic_lacks_is_told_with_its_row(partition: int) -> None:
    rows = rows_of(some_records(3), [0, partition, 0])
    _, bad = rows.targets(np.zeros(1, np.int64), np.array([4], np.int64))
    assert bad == 1


def test_rows_without_a_key_go_to_the_sticky_target_of_their_topic() -> None:
    records = [Record(n, 0, None, b"%d" % n) for n in range(5)]
    rows = rows_of(records)
    targets, _ = rows.targets(np.zeros(1, np.int64), np.array([4], np.int64))
    batches = OpenBatches(4, 1_000)
    batches.append(rows, 0, targets, np.array([2], np.int64))
    assert batches.filled() == [2]
    assert batches.count(2) == 5
