"""`.snapshot`: the producer state as of an offset, so that a restart need not read the whole log.

Layout (version 1): int16 version, uint32 CRC32C of all that follows it, int32 count, entries.
"""

import os
from collections.abc import Iterable
from struct import Struct

from headrace.log.errors import CorruptSnapshotError
from headrace.log.file_names import SNAPSHOT, offsets_of_kind
from headrace.log.producer_entry import SNAPSHOT_ENTRY, ProducerEntry, entry_from_snapshot
from headrace.log.text_files import read_small_file
from headrace.records.checksum import crc32c

_VERSION = 1
_HEAD = Struct(">hIi")
_COUNT = Struct(">i")
_CRC_END = 6


def encode_snapshot(entries: Iterable[ProducerEntry]) -> bytes:
    packed = [entry.pack() for entry in entries]
    body = _COUNT.pack(len(packed)) + b"".join(packed)
    return _HEAD.pack(_VERSION, crc32c(body), len(packed)) + body[_COUNT.size :]


def decode_snapshot(data: bytes) -> list[ProducerEntry]:
    """The entries of a snapshot; `CorruptSnapshotError` if it cannot be trusted."""
    if len(data) < _HEAD.size:
        raise CorruptSnapshotError(f"{len(data)} bytes are too few")
    version, crc, count = _HEAD.unpack_from(data)
    if version != _VERSION:
        raise CorruptSnapshotError(f"unknown version {version}")
    if crc32c(data[_CRC_END:]) != crc:
        raise CorruptSnapshotError("the CRC does not match")
    if count < 0 or len(data) != _HEAD.size + count * SNAPSHOT_ENTRY.size:
        raise CorruptSnapshotError(f"{count} entries do not fill {len(data)} bytes")
    fields = SNAPSHOT_ENTRY.iter_unpack(data[_HEAD.size :])
    return [entry_from_snapshot(entry) for entry in fields]


def write_snapshot(path: str, entries: Iterable[ProducerEntry]) -> None:
    """Write a snapshot; its CRC tells a torn one apart, so a flush may sync it later."""
    data = encode_snapshot(entries)
    with open(path, "wb") as file:
        file.write(data)


def read_snapshot(path: str) -> list[ProducerEntry]:
    return decode_snapshot(read_small_file(path))


def snapshot_offsets(directory: str) -> list[int]:
    """The offsets of all producer snapshots in a partition's directory, in order."""
    return offsets_of_kind(os.listdir(directory), SNAPSHOT)
