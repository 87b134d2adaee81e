"""Whatever a disk does to a partition's files, the log loads, reads and takes new records."""

import os
from pathlib import Path
from random import Random

import pytest

from headrace.base.errors import ErrorCode, KafkaError
from headrace.log import flushing, text_files
from headrace.log.partition_log import PartitionLog
from tests.unit.log.samples import (
    NOW,
    append,
    batch,
    end_transaction,
    first_since,
    kill,
    new_log,
    newest_record,
    produce,
    reload,
)

ROUNDS = 150


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """All files of a log with segments, producers, aborts and epochs."""
    log = new_log(tmp_path_factory.mktemp("log"), segment_bytes=2500, index_interval_bytes=200)
    for n in range(40):
        produce(log, 7, n, transactional=True, timestamp=NOW + n)
        if n % 5 == 4:
            end_transaction(log, 7, 0, commit=n % 2 == 0)
        append(log, batch(2), leader_epoch=n // 15)
    log.close()
    return {path.name: path.read_bytes() for path in Path(log.directory).iterdir()}


def _damage(directory: Path, files: dict[str, bytes], chance: Random) -> str:
    """Change one file; what was done."""
    name = chance.choice(sorted(set(files) - {"partition.metadata"}))
    data = bytearray(files[name])
    kind = chance.choice(["flip", "cut", "zero", "grow", "remove"])
    if kind == "remove":
        os.unlink(directory / name)
        return f"{kind} {name}"
    if kind == "flip" and data:
        for _ in range(chance.randint(1, 4)):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    elif kind == "cut":
        del data[chance.randint(0, len(data)) :]
    elif kind == "zero":
        start = chance.randint(0, len(data))
        data[start : start + 200] = bytes(len(data[start : start + 200]))
    else:
        data += chance.randbytes(chance.randint(1, 300))
    (directory / name).write_bytes(data)
    return f"{kind} {name}"


def _use(log: PartitionLog) -> None:
    """Read from everywhere, look everything up, and write."""
    end = log.log_end_offset
    # A damaged base offset, which no checksum covers, may make the log seem endless.
    for offset in range(log.log_start_offset, min(end, log.log_start_offset + 200), 3):
        try:
            log.read(offset, 500, end_offset=end)
        except KafkaError as error:
            if error.code is not ErrorCode.CORRUPT_MESSAGE:
                raise
    first_since(log, NOW + 20)
    newest_record(log)
    log.aborted_transactions(log.log_start_offset, end)
    result = append(log, batch(1), leader_epoch=1 << 30)
    assert result.base_offset == end
    assert log.read(end, 500, end_offset=end + 1)


@pytest.mark.parametrize("clean", [True, False], ids=["after a clean stop", "after a kill"])
def test_a_damaged_file_never_keeps_a_log_from_working(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, bytes], clean: bool
) -> None:
    monkeypatch.setattr(text_files, "sync_descriptor", lambda fd: None)
    monkeypatch.setattr(flushing, "sync_descriptor", lambda fd: None)
    template = new_log(tmp_path, segment_bytes=2500, index_interval_bytes=200)
    kill(template)
    directory = Path(template.directory)
    for seed in range(ROUNDS):
        for path in directory.iterdir():
            path.unlink()
        for name, data in files.items():
            (directory / name).write_bytes(data)
        chance = Random(seed)
        what = _damage(directory, files, chance)
        recovery_point = chance.choice([0, 30, 130])
        try:
            log = reload(template, clean=clean, recovery_point=recovery_point, log_start_offset=0)
            _use(log)
            log.close()
            kill(reload(template, clean=True, log_start_offset=0))
        except Exception as error:
            raise AssertionError(f"seed {seed}: {what}") from error
