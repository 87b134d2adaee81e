"""The files of a partition as Apache Kafka's own tool reads them."""

from pathlib import Path

import pytest

from headrace.log.partition_log import PartitionLog
from tests.support.java import java_tool
from tests.unit.log.samples import NOW, append, batch, end_transaction, new_log, produce

pytestmark = pytest.mark.no_second_chance


@pytest.fixture
def log(tmp_path: Path) -> PartitionLog:
    """A closed log of two segments with idempotent and transactional producers."""
    log = new_log(tmp_path, segment_bytes=60_000)
    for n in range(90):
        append(log, batch(5, value=b"x" * 150, timestamp=NOW + (n * 7) % 100))
        produce(log, 7, n * 3, 3, transactional=True)
        if n % 20 == 19:
            end_transaction(log, 7, 0, commit=n % 40 == 19)
        produce(log, 8, n)
    log.close()
    assert len(log.segments) == 2
    return log


def _dump(log: PartitionLog, kinds: tuple[str, ...], *options: str) -> str:
    files = sorted(str(path) for path in Path(log.directory).iterdir() if path.suffix in kinds)
    assert files
    return java_tool("DumpLogSegments", "--files", ",".join(files), *options).stdout


def test_every_record_is_read(log: PartitionLog) -> None:
    dump = _dump(log, (".log",), "--deep-iteration")
    assert dump.count("isvalid: true") == dump.count("baseOffset: ")
    assert f"| offset: {log.log_end_offset - 1} " in dump


def test_indexes_pass_the_sanity_check_and_point_at_batches(log: PartitionLog) -> None:
    checked = _dump(log, (".index", ".timeindex"), "--index-sanity-check")
    assert checked.count("passed sanity check") == 4
    verified = _dump(log, (".index", ".timeindex"), "--verify-index-only")
    assert [line for line in verified.splitlines() if not line.startswith("Dumping")] == []


def test_aborted_transactions_are_listed(log: PartitionLog) -> None:
    dump = _dump(log, (".txnindex",))
    for aborted in log.aborted_transactions(0, log.log_end_offset):
        assert (
            f"producerId: {aborted.producer_id} firstOffset: {aborted.first_offset}"
            f" lastOffset: {aborted.last_offset} lastStableOffset: {aborted.last_stable_offset}"
        ) in dump


def test_producer_snapshots_are_read(log: PartitionLog) -> None:
    last = _dump(log, (".snapshot",)).rpartition("Dumping")[2]
    for entry in log.producers:
        assert f"producerId: {entry.producer_id} producerEpoch: {entry.epoch}" in last
        assert f"lastSequence: {entry.last_sequence} lastOffset: {entry.last_offset}" in last
