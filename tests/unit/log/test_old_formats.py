"""Data of Kafka before 0.11, which lies in old directories and is served as it lies."""

from pathlib import Path
from struct import pack
from zlib import crc32

from headrace.log.partition_log import PartitionLog
from headrace.records.batch import iter_headers
from tests.unit.log.samples import NOW, append, batch, first_since, new_log, reload


def _message(offset: int, value: bytes, *, magic: int, timestamp: int = -1) -> bytes:
    body = pack(">bb", magic, 0)
    if magic == 1:
        body += pack(">q", timestamp)
    body += pack(">i", -1) + pack(">i", len(value)) + value
    return pack(">qiI", offset, len(body) + 4, crc32(body)) + body


def _old_log(directory: Path) -> tuple[PartitionLog, bytes]:
    """Offsets 0 to 2 in format 0, 3 to 5 in format 1, then one batch of format 2."""
    log = new_log(directory, index_interval_bytes=40)
    log.close()
    old = b"".join(_message(n, b"v0", magic=0) for n in range(3))
    old += b"".join(_message(n, b"v1", magic=1, timestamp=NOW + n) for n in range(3, 6))
    Path(log.active.file.path).write_bytes(old)
    log = reload(log, clean=False)
    assert log.log_end_offset == 6
    append(log, batch(2, timestamp=NOW + 6))
    return log, old


def test_old_messages_are_served_as_they_lie(tmp_path: Path) -> None:
    log, old = _old_log(tmp_path)
    data = log.read(0, 1 << 20, end_offset=8)
    assert data.startswith(old)
    assert [header.base_offset for _, header in iter_headers(data, len(old))] == [6]
    fourth = old.index(_message(4, b"v1", magic=1, timestamp=NOW + 4))
    assert log.read(4, 1 << 20, end_offset=8) == data[fourth:]
    assert (
        log.read(1, 1 << 20, end_offset=4) == old[len(_message(0, b"v0", magic=0)) :][: 2 * 28 + 36]
    )


def test_old_messages_are_cut_and_recovered(tmp_path: Path) -> None:
    log, old = _old_log(tmp_path)
    log.close(clean=False)
    path = Path(log.active.file.path)
    path.write_bytes(old[:-1])
    assert reload(log, clean=False, recovery_point=0).log_end_offset == 5
    path.write_bytes(old[:-1] + b"!")
    assert reload(log, clean=False, recovery_point=0).log_end_offset == 5


def test_old_messages_are_found_by_time(tmp_path: Path) -> None:
    log, _ = _old_log(tmp_path)
    assert first_since(log, NOW + 4) == (NOW + 4, 4, -1)
    assert first_since(log, NOW + 7) == (NOW + 7, 7, 0)
