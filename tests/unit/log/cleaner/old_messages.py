"""Messages as Kafka wrote them before 0.11, and logs that hold them."""

from pathlib import Path
from struct import pack
from zlib import crc32

from headrace.log.partition_log import PartitionLog
from headrace.records.batch import MAGIC_V2
from headrace.records.codecs import Codec, compress
from headrace.records.legacy import iter_any_headers, read_message
from headrace.records.reader import read_checked_batch
from headrace.records.record import Record
from tests.unit.log.cleaner.samples import compacted_log
from tests.unit.log.samples import NOW, everything, reload

_APPEND_TIME = 0x08

Pair = tuple[bytes | None, bytes | None]


def message(
    magic: int,
    offset: int,
    key: bytes | None,
    value: bytes | None,
    *,
    timestamp: int = NOW,
    attributes: int = 0,
) -> bytes:
    body = pack(">bb", magic, attributes)
    if magic == 1:
        body += pack(">q", timestamp)
    for field in (key, value):
        body += pack(">i", -1) if field is None else pack(">i", len(field)) + field
    return pack(">qiI", offset, len(body) + 4, crc32(body)) + body


def wrapper(
    magic: int, first: int, *pairs: Pair, codec: int = Codec.GZIP, append_time: int | None = None
) -> bytes:
    """Compressed messages from offset `first` on; message n is NOW + n old."""
    flag = 0 if append_time is None else _APPEND_TIME
    inner = [
        message(
            magic,
            n if magic == 1 else first + n,
            key,
            value,
            timestamp=NOW + n,
            attributes=flag,
        )
        for n, (key, value) in enumerate(pairs)
    ]
    last = len(pairs) - 1
    return message(
        magic,
        first + last,
        None,
        compress(codec, b"".join(inner)),
        timestamp=NOW + last if append_time is None else append_time,
        attributes=codec | flag,
    )


def old_log(directory: Path, data: bytes, **settings: object) -> PartitionLog:
    """A compacted log whose only segment holds these bytes."""
    log = compacted_log(directory, **settings)
    log.close()
    Path(log.active.file.path).write_bytes(data)
    return reload(log, clean=False)


def records_in(data: bytes) -> list[Record]:
    """All records, whatever their format."""
    found: list[Record] = []
    for position, header in iter_any_headers(data):
        if header.magic == MAGIC_V2:
            found += read_checked_batch(data, position, header)
        else:
            found += read_message(data, position)
    return found


def contents(log: PartitionLog) -> list[tuple[int, bytes | None, bytes | None]]:
    return [(one.offset, one.key, one.value) for one in records_in(everything(log))]
