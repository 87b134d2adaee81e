"""A reader that waits gets the batch that was just appended from memory; it must not show."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.log.partition_log import PartitionLog
from headrace.protocol.messages.fetch import FetchRequest
from tests.unit.broker.batches import batch, fetch_request, produce_request
from tests.unit.broker.twins import Pair, Twins, new_connection

VERSION = 12


@pytest.fixture
def twins(tmp_path: Path, served: Counter[str]) -> Iterator[Twins]:
    """A topic `t`, a reader that is known to wait at its end, and a known producer."""
    with Twins(tmp_path) as made:
        made.create_topic("t")
        for _ in range(3):
            write(made)
        reader = Reader(made)
        for _ in range(3):
            assert not is_answered(reader.wait())
            write(made)
        yield made


class Reader:
    """Reads on from where it stopped, on a connection of its own."""

    def __init__(self, twins: Twins, **options: Any) -> None:
        self.twins = twins
        self.connection = new_connection(twins.authorizer)
        self.options = options

    def request(self) -> FetchRequest:
        end = self.twins.knowing.partition("t").log.log_end_offset
        request = fetch_request(("t", 0, end), max_wait_ms=500)
        for name, value in self.options.items():
            setattr(request, name, value)
        return request

    def wait(self) -> Pair:
        return self.twins.send(self.request(), VERSION, connection=self.connection)

    def become_known(self) -> None:
        for _ in range(3):
            self.wait()
            write(self.twins)


def write(twins: Twins, data: bytearray | None = None) -> Pair:
    return twins.send(produce_request(("t", 0, data or batch())), VERSION)


def is_answered(pair: Pair) -> bool:
    return pair.is_answered


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Counts reads of files."""
    counted: Counter[str] = Counter()
    read = PartitionLog.read_or_slice

    def counting(self: PartitionLog, *args: Any, **options: Any) -> Any:
        counted[self.directory] += 1
        return read(self, *args, **options)

    monkeypatch.setattr(PartitionLog, "read_or_slice", counting)
    return counted


def directory(twins: Twins) -> str:
    return twins.knowing.partition("t").log.directory


@pytest.mark.parametrize("isolation_level", [0, 1])
def test_a_waiting_reader_gets_the_new_batch_without_a_read(
    twins: Twins, reads: Counter[str], isolation_level: int
) -> None:
    reader = Reader(twins, isolation_level=isolation_level)
    reader.become_known()
    reads.clear()
    waiting = reader.wait()
    write(twins, batch(5, value=b"fresh"))
    assert is_answered(waiting)
    assert reads[directory(twins)] == 0


def test_a_batch_with_append_time_is_read_as_it_was_stored(twins: Twins) -> None:
    twins.configure("t", "message.timestamp.type", "LogAppendTime")
    reader = Reader(twins)
    reader.become_known()
    waiting = reader.wait()
    write(twins)
    assert is_answered(waiting)


def test_a_batch_that_came_twice_is_not_given_to_readers_twice(twins: Twins) -> None:
    data = batch(producer_id=7, producer_epoch=0, base_sequence=0)
    reader = Reader(twins)
    reader.become_known()
    write(twins, bytearray(data))
    waiting = reader.wait()
    write(twins, bytearray(data))
    assert not is_answered(waiting)
    write(twins)
    assert is_answered(waiting)


def test_two_batches_that_a_reader_wants_at_once_are_read_together(
    twins: Twins, reads: Counter[str]
) -> None:
    reader = Reader(twins, min_bytes=len(batch()) + 1)
    for _ in range(3):
        reader.wait()
        write(twins)
        write(twins)
    waiting = reader.wait()
    write(twins)
    assert not is_answered(waiting)
    reads.clear()
    write(twins)
    assert is_answered(waiting)
    assert reads[directory(twins)] > 0


def test_nothing_is_kept_of_a_batch_once_its_readers_are_told(twins: Twins) -> None:
    write(twins)
    assert twins.knowing.partition("t").newest is None
