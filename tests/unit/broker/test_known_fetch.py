"""Fetches that are known: limits, transactions, sessions, and what may have changed since."""

import gc
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.base.errors import ErrorCode
from headrace.log.append import AppendOrigin
from headrace.log.file_slice import FileSlice
from headrace.protocol.messages.fetch import PartitionData
from headrace.records.batch import read_header
from headrace.replication.partition import READ_COMMITTED
from tests.unit.broker.batches import batch, offsets, partitions_of
from tests.unit.broker.known_reading import fill, filled_twins, send
from tests.unit.broker.twins import Pair, Twins
from tests.unit.log.samples import marker


@pytest.fixture
def twins(tmp_path: Path, served: Counter[str]) -> Iterator[Twins]:
    yield from filled_twins(tmp_path, served)


def data_of(pair: Pair) -> PartitionData:
    (data,) = partitions_of(pair.response).values()
    return data


def become_known(twins: Twins, served: Counter[str], **options: Any) -> None:
    for _ in range(3):
        send(twins, 0, **options)
    assert served["fetch"] > 0
    served.clear()


# How much


def test_no_more_than_the_limits_and_at_least_one_batch(twins: Twins, served: Counter[str]) -> None:
    size = len(batch(2))
    for limit, wanted in ((2 * size, [0, 2]), (2 * size - 1, [0]), (1, [0])):
        for name in ("max_bytes", "partition_bytes"):
            served.clear()
            become_known(twins, served, **{name: limit})
            given: dict[str, Any] = {name: limit}
            assert offsets(data_of(send(twins, 0, **given))) == wanted
            assert offsets(data_of(send(twins, 3, **given)))[0] == 2
            assert served == {"fetch": 2}


@pytest.mark.parametrize("offset", [6, 7, 2**62, -1, -(2**63)])
def test_the_end_of_the_log_and_what_is_beyond_it(
    twins: Twins, served: Counter[str], offset: int
) -> None:
    become_known(twins, served)
    code = ErrorCode.NONE if offset == 6 else ErrorCode.OFFSET_OUT_OF_RANGE
    data = data_of(send(twins, offset))
    assert (data.error_code, data.records) == (code, b"")
    assert offsets(data_of(send(twins, 4))) == [4]


def test_the_brokers_own_limit_counts_too(tmp_path: Path) -> None:
    twins = Twins(tmp_path, overrides={"fetch.max.bytes": "1024"})
    twins.create_topic("t")
    fill(twins, *[5] * 20)
    for _ in range(4):
        assert len(data_of(send(twins, 0, max_bytes=1 << 20)).records or b"") <= 1024
    twins.close()


@pytest.mark.parametrize("lazy_from", [1 << 62, 64 * 1024, 33_000])
@pytest.mark.parametrize("size", [16_000, 32_000, 32_768, 33_000, 90_000])
def test_large_answers_are_the_same_from_memory_and_from_the_file(
    twins: Twins, served: Counter[str], size: int, lazy_from: int
) -> None:
    twins.connection.lazy_records_from = lazy_from
    become_known(twins, served)
    fill(twins, 1, 1, value=b"x" * size)
    for offset, wanted in ((6, [6, 7]), (7, [7]), (0, [0, 2, 4, 6, 7]), (8, [])):
        assert offsets(data_of(send(twins, offset))) == wanted
    assert served["fetch"] == 4


def test_nothing_of_a_large_answer_is_kept_once_it_is_sent(
    twins: Twins, served: Counter[str]
) -> None:
    """It would keep a file open, and on the disk after its segment is deleted."""
    twins.connection.lazy_records_from = 64 * 1024
    become_known(twins, served)
    fill(twins, 1, value=b"x" * 90_000)
    assert offsets(data_of(send(twins, 6))) == [6]
    assert served["fetch"] == 1
    gc.collect()
    assert not [one for one in gc.get_objects() if isinstance(one, FileSlice)]


def test_records_that_were_deleted_are_out_of_range_and_the_new_start_is_told(
    twins: Twins, served: Counter[str]
) -> None:
    become_known(twins, served)
    twins.each(lambda broker: broker.partition("t").delete_records_before(3))
    assert data_of(send(twins, 2)).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    data = data_of(send(twins, 3))
    assert (data.log_start_offset, offsets(data)) == (3, [2, 4])


# Transactions


def append(twins: Twins, make: Callable[[], bytearray], *, by_client: bool = True) -> None:
    """Append past the handler: what transactions leave in a log."""
    origin = AppendOrigin.CLIENT if by_client else AppendOrigin.COORDINATOR

    def one(broker: Any) -> None:
        data = make()
        now_ms = broker.clock.wall_ms()
        broker.partition("t").append(memoryview(data), read_header(data), now_ms, origin)

    twins.each(one)


def transactional(sequence: int) -> Callable[[], bytearray]:
    return lambda: batch(
        producer_id=7, producer_epoch=0, base_sequence=sequence, transactional=True
    )


def end_transaction(twins: Twins, *, commit: bool) -> None:
    append(twins, lambda: marker(7, 0, commit=commit), by_client=False)


def test_an_open_transaction_holds_readers_of_committed_data_back(
    twins: Twins, served: Counter[str]
) -> None:
    become_known(twins, served, isolation_level=READ_COMMITTED)
    append(twins, transactional(0))
    fill(twins, 2)
    data = data_of(send(twins, 4, isolation_level=READ_COMMITTED))
    assert (offsets(data), data.last_stable_offset, data.high_watermark) == ([4], 6, 9)
    assert offsets(data_of(send(twins, 6, isolation_level=READ_COMMITTED))) == []
    assert offsets(data_of(send(twins, 7, isolation_level=READ_COMMITTED))) == []
    end_transaction(twins, commit=True)
    data = data_of(send(twins, 6, isolation_level=READ_COMMITTED))
    assert (offsets(data), data.aborted_transactions) == ([6, 7, 9], [])
    assert served["fetch"] == 4


def test_aborted_transactions_are_named_to_readers_of_committed_data(
    twins: Twins, served: Counter[str]
) -> None:
    become_known(twins, served, isolation_level=READ_COMMITTED)
    append(twins, transactional(0))
    end_transaction(twins, commit=False)
    fill(twins, 1)
    for offset, wanted in ((0, [(7, 6)]), (6, [(7, 6)]), (7, [(7, 6)]), (8, [])):
        data = data_of(send(twins, offset, isolation_level=READ_COMMITTED))
        assert data.aborted_transactions is not None
        aborted = [(one.producer_id, one.first_offset) for one in data.aborted_transactions]
        assert aborted == wanted
    assert served["fetch"] == 4


def test_aborted_transactions_behind_what_is_served_are_not_named(
    twins: Twins, served: Counter[str]
) -> None:
    options: dict[str, Any] = {"isolation_level": READ_COMMITTED, "partition_bytes": 1}
    become_known(twins, served, **options)
    append(twins, transactional(0))
    end_transaction(twins, commit=False)
    for offset, wanted in ((0, []), (4, []), (6, [7]), (7, [7])):
        data = data_of(send(twins, offset, **options))
        assert [one.producer_id for one in data.aborted_transactions or ()] == wanted
    assert served["fetch"] == 4
