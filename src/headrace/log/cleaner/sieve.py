"""Which records survive: the newest offset of each key, and batches sifted by it, in plain Python.

A first walk over the dirty part of the log fills the map, a second one over everything from the
start of the log sifts. `cleaner.sieve_numba` has the same class compiled.
"""

from dataclasses import dataclass
from hashlib import blake2b
from typing import Protocol

from headrace.records.batch import BatchHeader, Buffer
from headrace.records.varint import encode_varint
from headrace.records.walk import Row, walk

#: What a key costs in a dictionary: its slot, the key, the offset.
ENTRY_SIZE = 168

#: Longer keys are told apart by a digest, which has a length that no shorter key has.
_LONGEST_KEY = 31
_DIGEST_SIZE = 32
_NO_TIMESTAMP = -1


@dataclass(slots=True)
class Sifted:
    """What is left of one batch."""

    kept: int
    #: The encoded records that stay; None if all of them do, unchanged.
    payload: bytes | bytearray | None
    max_timestamp: int
    keyless: int
    #: The delete horizon was set now: it is the base timestamp of `payload`.
    horizon_set: bool = False


class Sieve(Protocol):
    """The offset map of one round."""

    #: The last offset the map speaks of; records behind it are not judged.
    latest_offset: int

    def __len__(self) -> int: ...

    def add(self, data: Buffer, header: BatchHeader, start_offset: int) -> bool:
        """Note the keys of a batch from `start_offset` on; False once the map is full.

        `latest_offset` then says how far it came; after a whole batch the caller moves it on.
        """
        ...

    def sift(
        self, data: Buffer, header: BatchHeader, *, drop_tombstones: bool, horizon_ms: int
    ) -> Sifted:
        """Judge the records of a batch whose encoded records are `data`.

        If a tombstone stays and the batch has no delete horizon yet, it gets `horizon_ms`.
        """
        ...


class DictSieve:
    """The sieve that works everywhere."""

    __slots__ = ("_keys", "_keys_max", "latest_offset")

    def __init__(self, map_bytes: int) -> None:
        self._keys: dict[bytes, int] = {}
        self._keys_max = max(1, map_bytes // ENTRY_SIZE)
        self.latest_offset = -1

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, data: Buffer, header: BatchHeader, start_offset: int) -> bool:
        data = bytes(data)  # slices of it are keys
        rows = walk(data, 0, len(data), header)
        if header.base_offset < start_offset:
            rows = [row for row in rows if row[0] >= start_offset]
        if len(self._keys) + len(rows) > self._keys_max:
            return self._add_until_full(data, rows)
        keys = self._keys
        for offset, _, position, length, _, _, _, _ in rows:
            if 0 <= length <= _LONGEST_KEY:
                keys[data[position : position + length]] = offset
            elif length > 0:
                keys[_digest(data[position : position + length])] = offset
        return True

    def sift(
        self, data: Buffer, header: BatchHeader, *, drop_tombstones: bool, horizon_ms: int
    ) -> Sifted:
        data = bytes(data)
        rows = walk(data, 0, len(data), header)
        keys_get, latest = self._keys.get, self.latest_offset
        kept: list[Row] = []
        keyless = 0
        tombstones = False
        for row in rows:
            offset, _, position, length, _, value_length, _, _ = row
            if offset <= latest:
                if length < 0:
                    keyless += 1
                    continue
                key = data[position : position + length]
                if keys_get(key if length <= _LONGEST_KEY else _digest(key), -1) > offset:
                    continue
                if value_length < 0:
                    if drop_tombstones:
                        continue
                    tombstones = True
            elif value_length < 0:
                tombstones = True
            kept.append(row)
        return sifted(data, header, rows, kept, keyless, horizon_ms if tombstones else None)

    def _add_until_full(self, data: bytes, rows: list[Row]) -> bool:
        keys = self._keys
        for offset, _, position, length, _, _, _, _ in rows:
            if length >= 0:
                if len(keys) >= self._keys_max:
                    return False
                key = data[position : position + length]
                keys[key if length <= _LONGEST_KEY else _digest(key)] = offset
                self.latest_offset = offset
        return True


def sifted(
    data: bytes,
    header: BatchHeader,
    rows: list[Row],
    kept: list[Row],
    keyless: int,
    horizon_ms: int | None,
) -> Sifted:
    """Put together what a batch keeps; `horizon_ms` if a tombstone is among it."""
    if kept and horizon_ms is not None and not header.has_delete_horizon:
        payload = encode_from(data, header, kept, horizon_ms)
        return Sifted(len(kept), payload, _newest(kept), keyless, horizon_set=True)
    if len(kept) == len(rows):
        return Sifted(len(kept), None, header.max_timestamp, keyless)
    return Sifted(len(kept), _join(data, rows, kept), _newest(kept), keyless)


def encode_from(data: bytes, header: BatchHeader, rows: list[Row], base_timestamp: int) -> bytes:
    """The records of `rows` again, with timestamps told from another base."""
    parts: list[bytes] = []
    for offset, timestamp, key, key_length, _, _, headers, headers_length in rows:
        before_key = (
            b"\x00"  # attributes: none are defined for a record
            + encode_varint(timestamp - base_timestamp)
            + encode_varint(offset - header.base_offset)
            + encode_varint(key_length)
        )
        end = headers + headers_length
        parts += (encode_varint(len(before_key) + end - key), before_key, data[key:end])
    return b"".join(parts)


def _join(data: bytes, rows: list[Row], kept: list[Row]) -> bytes:
    """Copy the kept records as they are: their deltas still hold, for the bases stay."""
    parts: list[bytes] = []
    remaining = iter(kept)
    expected = next(remaining, None)
    start = end = 0
    for row in rows:
        record_end = row[6] + row[7]
        if row is expected:
            expected = next(remaining, None)
        else:
            if start < end:
                parts.append(data[start:end])
            start = record_end
        end = record_end
    parts.append(data[start:end])
    return b"".join(parts)


def _newest(rows: list[Row]) -> int:
    return max((row[1] for row in rows), default=_NO_TIMESTAMP)


def _digest(key: bytes) -> bytes:
    return blake2b(key, digest_size=_DIGEST_SIZE).digest()
