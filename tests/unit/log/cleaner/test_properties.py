"""What holds for every log, however it came about: random histories, compacted again and again."""

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.log.partition_log import PartitionLog
from headrace.records.codecs import Codec
from headrace.records.record import Record
from tests.unit.log.cleaner.samples import (
    SieveMaker,
    compact,
    compacted_log,
    dict_sieve,
    headers_of,
    put,
    records_of,
    replayed,
    roll,
    table_sieve,
)
from tests.unit.log.samples import NOW, everything, reload

#: Thousands of fsyncs, none of which a real disk has to do.
MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None

KEYS = st.sampled_from([b"", b"a", b"b", b"c", b"d" * 40, b"e" * 16])
VALUES = st.one_of(st.none(), st.binary(max_size=40))


@dataclass(frozen=True)
class Batch:
    """One append of a history, or the roll of a segment."""

    pairs: tuple[tuple[bytes | None, bytes | None], ...]
    codec: int
    idempotent: bool


PAIRS = st.lists(st.tuples(st.one_of(KEYS, KEYS, KEYS, st.none()), VALUES), min_size=1, max_size=6)
BATCHES = st.builds(
    lambda pairs, codec, idempotent: Batch(tuple(pairs), codec, idempotent),
    PAIRS,
    st.sampled_from([Codec.NONE, Codec.NONE, Codec.GZIP, Codec.LZ4]),
    st.booleans(),
)
HISTORIES = st.lists(st.one_of(BATCHES, BATCHES, st.none()), min_size=1, max_size=25)


def build(directory: Path, history: list[Batch | None], **settings: object) -> PartitionLog:
    log = compacted_log(directory, **settings)
    sequence = 0
    for step in history:
        if step is None:
            roll(log)
        elif step.idempotent:
            put(
                log,
                *step.pairs,
                codec=step.codec,
                producer_id=4,
                producer_epoch=0,
                base_sequence=sequence,
            )
            sequence += len(step.pairs)
        else:
            put(log, *step.pairs, codec=step.codec)
    roll(log)
    return log


def by_offset(log: PartitionLog) -> dict[int, tuple[object, ...]]:
    return {record.offset: _content(record) for record in records_of(log)}


def _content(record: Record) -> tuple[object, ...]:
    return record.timestamp, record.key, record.value, tuple(record.headers)


def check_round(
    directory: Path,
    history: list[Batch | None],
    map_entries: int,
    sieve: SieveMaker,
    segment_bytes: int,
) -> None:
    log = build(directory, history, segment_bytes=segment_bytes, index_interval_bytes=64)
    before, state, end = by_offset(log), replayed(log), log.log_end_offset
    producer = log.producers.get(4)
    dirty_from = 0
    while dirty_from < log.active.base_offset:
        dirty_from = compact(
            log, dirty_from=dirty_from, map_bytes=map_entries * 168, sieve=sieve
        ).end_offset
        after = by_offset(log)
        # Nothing is invented, moved or reordered, and nobody's final state changes.
        assert after.items() <= before.items()
        assert list(after) == sorted(after)
        assert replayed(log) == state
    assert log.log_end_offset == end
    offsets = [(header.base_offset, header.last_offset) for header in headers_of(log)]
    assert offsets == sorted(offsets)

    stable = everything(log)
    if map_entries >= 200:  # one round saw it all: one record a key, none without a key
        keys = [record.key for record in records_of(log)]
        assert None not in keys
        assert len(keys) == len(set(keys))
        compact(log, sieve=sieve)
        assert everything(log) == stable

    again = reload(log, clean=False, recovery_point=0)
    assert everything(again) == stable
    assert again.log_end_offset == end
    entry = again.producers.get(4)
    assert (entry is None) == (producer is None)
    if entry is not None and producer is not None:
        assert (entry.last_sequence, entry.epoch) == (producer.last_sequence, producer.epoch)


@settings(max_examples=120)
@given(HISTORIES, st.sampled_from([3, 200]), st.sampled_from([400, 1 << 20]))
def test_a_reader_of_the_whole_log_ends_with_the_same_state(
    history: list[Batch | None], map_entries: int, segment_bytes: int
) -> None:
    with tempfile.TemporaryDirectory(dir=MEMORY) as directory:
        check_round(Path(directory), history, map_entries, dict_sieve, segment_bytes)


@settings(max_examples=60)
@given(HISTORIES, st.sampled_from([400, 1 << 20]))
def test_the_compiled_sieve_leaves_the_same_bytes(
    history: list[Batch | None], segment_bytes: int
) -> None:
    with tempfile.TemporaryDirectory(dir=MEMORY) as directory:
        Path(directory, "plain").mkdir()
        Path(directory, "compiled").mkdir()
        plain = build(Path(directory, "plain"), history, segment_bytes=segment_bytes)
        compiled = build(Path(directory, "compiled"), history, segment_bytes=segment_bytes)
        compact(plain, sieve=dict_sieve)
        compact(compiled, sieve=table_sieve)
        assert everything(compiled) == everything(plain)


@settings(max_examples=60)
@given(HISTORIES, st.integers(1, 3))
def test_tombstones_and_what_they_delete_are_gone_in_the_end(
    history: list[Batch | None], retention_ms: int
) -> None:
    with tempfile.TemporaryDirectory(dir=MEMORY) as directory:
        log = build(Path(directory), history, delete_retention_ms=retention_ms)
        state = replayed(log)
        for now_ms in (NOW, NOW + retention_ms):
            compact(log, now_ms=now_ms)
            assert replayed(log) == state
        left = {record.key: record.value for record in records_of(log)}
        assert left == state
