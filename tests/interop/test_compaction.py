"""Apache Kafka's cleaner and ours on the same logs, round by round: what is left must be equal."""

import random
import shutil
from pathlib import Path

import pytest

from headrace.log.cleaner.sieve import ENTRY_SIZE
from headrace.log.partition_log import PartitionLog
from headrace.records.batch import BatchHeader, iter_headers
from headrace.records.codecs import Codec
from headrace.records.reader import read_checked_batch
from tests.support.java import java_tool
from tests.support.tools import JAVA_SOURCES
from tests.unit.log.cleaner.samples import compact, compacted_log, put, roll
from tests.unit.log.samples import NOW, end_transaction, everything, reload

pytestmark = pytest.mark.no_second_chance

HOUR = 3_600_000
RETENTION_MS = HOUR
#: Rounds without new data, on both sides of the delete horizon that the first one sets.
TIMES = (NOW, NOW + 1, NOW + HOUR, NOW + HOUR + 1, NOW + 2 * HOUR + 2, NOW + 3 * HOUR + 3)
KEYS = 12
LOGS = 25


class History:
    """Random writers of one log: plain, idempotent and transactional."""

    def __init__(self, log: PartitionLog, chance: random.Random) -> None:
        self.log = log
        self.chance = chance
        self.sequences: dict[int, int] = {}
        self.epochs: dict[int, int] = {}
        self.open: set[int] = set()

    def write(self, steps: int) -> None:
        for _ in range(steps):
            kind = self.chance.random()
            if kind < 0.35:
                self._put()
            elif kind < 0.55:
                self._put(producer_id=self.chance.choice([1, 2, 3]))
            elif kind < 0.8:
                producer_id = self.chance.choice([11, 12, 13])
                self.open.add(producer_id)
                self._put(producer_id=producer_id, transactional=True)
            elif kind < 0.93 and self.open:
                self._end(self.chance.choice(sorted(self.open)))
            else:
                roll(self.log)
        for producer_id in sorted(self.open):
            self._end(producer_id)
        self._put()
        roll(self.log)

    def _put(self, producer_id: int = -1, transactional: bool = False) -> None:
        chance = self.chance
        pairs = [
            (
                None
                if chance.random() < 0.03
                else b"key-%d" % chance.randrange(KEYS) * chance.choice([0, 1, 1, 9]),
                None if chance.random() < 0.2 else b"v" * chance.randrange(30),
            )
            for _ in range(chance.randrange(1, 6))
        ]
        sequence = self.sequences.get(producer_id, 0)
        if producer_id >= 0:
            self.sequences[producer_id] = sequence + len(pairs)
        put(
            self.log,
            *pairs,
            timestamp=NOW - chance.randrange(1000),
            codec=chance.choice(list(Codec)),
            producer_id=producer_id,
            producer_epoch=self.epochs.get(producer_id, 0) if producer_id >= 0 else -1,
            base_sequence=sequence if producer_id >= 0 else -1,
            transactional=transactional,
            append_time=NOW + 5 if chance.random() < 0.1 else None,
            headers=[("h", b"1")] if chance.random() < 0.2 else [],
        )

    def _end(self, producer_id: int) -> None:
        """With or without a new epoch (KIP-890), after which sequences begin anew."""
        self.open.discard(producer_id)
        if self.chance.random() < 0.5:
            self.epochs[producer_id] = self.epochs.get(producer_id, 0) + 1
            self.sequences[producer_id] = 0
        epoch = self.epochs.get(producer_id, 0)
        end_transaction(self.log, producer_id, epoch, commit=self.chance.random() < 0.5)


def left_over(log: PartitionLog) -> list[tuple[object, ...]]:
    """Everything that a compacted log still says, batch by batch and record by record."""
    data = everything(log)
    found = []
    for position, header in iter_headers(data):
        records = read_checked_batch(data, position, header)
        rows = [(r.offset, r.timestamp, r.key, r.value, tuple(r.headers)) for r in records]
        found.append((*_fields(header), rows))
    return found


def _fields(header: BatchHeader) -> tuple[object, ...]:
    """A thinned batch keeps its base timestamp with us; Apache takes its first record's anew."""
    return (
        header.base_offset,
        header.last_offset,
        header.record_count,
        header.attributes,
        header.base_timestamp if header.has_delete_horizon else None,
        header.max_timestamp,
        header.leader_epoch,
        header.producer_id,
        header.producer_epoch,
        header.base_sequence,
    )


def test_apaches_cleaner_and_ours_leave_the_same(tmp_path: Path) -> None:
    chance = random.Random(20_480)
    ours: list[tuple[PartitionLog, Path, int]] = []
    lines = []
    for number in range(LOGS):
        home, twin = tmp_path / f"ours-{number}", tmp_path / f"apache-{number}"
        home.mkdir()
        twin.mkdir()
        segment_bytes = chance.choice([1 << 30, 4096])
        log = compacted_log(home, delete_retention_ms=RETENTION_MS)
        History(log, chance).write(chance.randrange(5, 60))
        log.close()
        shutil.copytree(log.directory, twin / "t-0")
        log = reload(log, clean=True)
        log.config = type(log.config)(
            cleanup_policy=frozenset({"compact"}),
            delete_retention_ms=RETENTION_MS,
            segment_bytes=segment_bytes,
        )
        keys = chance.choice([5, 1000])
        # Apache takes 24 bytes a key and stops at nine tenths.
        slots = -(-keys * 10 // 9)
        fields = (twin / "t-0", RETENTION_MS, segment_bytes, slots * 24, *TIMES)
        lines.append("\t".join(map(str, fields)))
        ours.append((log, twin, keys))
    plan = tmp_path / "plan"
    plan.write_text("\n".join(lines) + "\n")
    oracle = JAVA_SOURCES / "oracle" / "CompactionOracle.java"
    ends = java_tool(str(oracle), str(plan), timeout=300).stdout.splitlines()

    for (log, twin, keys), expected in zip(ours, ends, strict=True):
        dirty, reached = 0, []
        for now_ms in TIMES:
            start = dirty if dirty < log.active.base_offset else 0
            dirty = compact(
                log, dirty_from=start, now_ms=now_ms, map_bytes=keys * ENTRY_SIZE
            ).end_offset
            reached.append(dirty)
        assert " ".join(map(str, reached)) == expected
        log.close()
        theirs = reload_at(twin / "t-0", log)
        assert left_over(log) == left_over(theirs)
        assert log.segments.base_offsets == theirs.segments.base_offsets
        assert log.aborted_transactions(0, log.log_end_offset) == theirs.aborted_transactions(
            0, log.log_end_offset
        )


def reload_at(directory: Path, like: PartitionLog) -> PartitionLog:
    """Our reading of a directory that Apache worked on."""
    from headrace.log.loading import load_log
    from headrace.log.open_files import OpenFiles

    return load_log(
        str(directory),
        like.topic,
        like.partition,
        config=like.config,
        files=OpenFiles(),
        now_ms=NOW,
        clean=True,
        recovery_point=0,
        log_start_offset=0,
    )
