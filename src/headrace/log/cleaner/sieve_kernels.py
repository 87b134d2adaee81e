"""The loops of the offset map that Numba compiles for `cleaner.sieve_numba`.

The map is one table of three words a slot: two words of the key's hash, and the offset plus one,
so that a fresh page of zeros is a page of free slots. As in Kafka, 128 bits of hash stand for the
key. Bounds of keys and records have been checked by the walk before anything here reads them.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.records.compiling import compiled

_C1 = np.uint64(0x87C37B91114253D5)
_C2 = np.uint64(0x4CF5AD432745937F)
_M1 = np.uint64(0xFF51AFD7ED558CCD)
_M2 = np.uint64(0xC4CEB9FE1A85EC53)
_FIVE = np.uint64(5)
_N1 = np.uint64(0x52DCE729)
_N2 = np.uint64(0x38495AB5)

# Rows of the walk's table of places.
_KEY, _KEY_LENGTH, _VALUE_LENGTH, _HEADERS, _HEADERS_LENGTH = 0, 1, 3, 4, 5


def _rotate(word: Any, bits: int) -> Any:
    return (word << np.uint64(bits)) | (word >> np.uint64(64 - bits))


rotate = compiled(_rotate)


def _finish(word: Any) -> Any:
    word ^= word >> np.uint64(33)
    word *= _M1
    word ^= word >> np.uint64(33)
    word *= _M2
    return word ^ (word >> np.uint64(33))


finish = compiled(_finish)


def _read_word(data: Any, position: int, count: int) -> Any:
    word = np.uint64(0)
    for index in range(count):
        word |= np.uint64(data[position + index]) << np.uint64(8 * index)
    return word


read_word = compiled(_read_word)


def _hash_key(data: Any, position: int, length: int) -> tuple[Any, Any]:
    """MurmurHash3 of 128 bits (x64, seed 0)."""
    first = second = np.uint64(0)
    end = position + length
    while end - position >= 16:
        a = rotate(read_word(data, position, 8) * _C1, 31) * _C2
        b = rotate(read_word(data, position + 8, 8) * _C2, 33) * _C1
        first = (rotate(first ^ a, 27) + second) * _FIVE + _N1
        second = (rotate(second ^ b, 31) + first) * _FIVE + _N2
        position += 16
    rest = end - position
    if rest > 8:
        second ^= rotate(read_word(data, position + 8, rest - 8) * _C2, 33) * _C1
    if rest > 0:
        first ^= rotate(read_word(data, position, min(rest, 8)) * _C1, 31) * _C2
    first ^= np.uint64(length)
    second ^= np.uint64(length)
    first += second
    second += first
    first = finish(first)
    second = finish(second)
    first += second
    return first, second + first


hash_key = compiled(_hash_key)


def _find_slot(table: Any, first: Any, second: Any) -> Any:
    """The slot that holds a key, or the free one where it belongs."""
    mask = len(table) - 1
    slot = np.int64(first) & mask
    while table[slot, 2] != 0 and (table[slot, 0] != first or table[slot, 1] != second):
        slot = (slot + 1) & mask
    return slot


find_slot = compiled(_find_slot)


def _add_keys(
    data: Any,
    offsets: Any,
    places: Any,
    rows: int,
    start_offset: int,
    table: Any,
    used: int,
    used_max: int,
) -> tuple[int, Any, int]:
    """Note the offset of each key; return (slots used, last offset noted or -1, 1 if full)."""
    latest = np.int64(-1)
    for row in range(rows):
        length = places[_KEY_LENGTH, row]
        if length < 0 or offsets[row] < start_offset:
            continue
        if used >= used_max:
            return used, latest, 1
        first, second = hash_key(data, places[_KEY, row], length)
        slot = find_slot(table, first, second)
        if table[slot, 2] == 0:
            table[slot, 0] = first
            table[slot, 1] = second
            used += 1
        latest = offsets[row]
        table[slot, 2] = np.uint64(latest + 1)
    return used, latest, 0


def _sift_rows(
    data: Any,
    offsets: Any,
    timestamps: Any,
    places: Any,
    rows: int,
    table: Any,
    latest_offset: int,
    drop_tombstones: bool,
    kept: Any,
    out: Any,
) -> tuple[int, int, Any, int, int]:
    """Mark the rows that stay and copy their records together.

    Returns (rows kept, bytes copied, largest timestamp, rows without key, tombstones kept).
    """
    count = size = keyless = tombstones = 0
    newest = np.int64(-1)
    start = 0
    for row in range(rows):
        end = places[_HEADERS, row] + places[_HEADERS_LENGTH, row]
        stays = True
        if offsets[row] <= latest_offset:
            length = places[_KEY_LENGTH, row]
            if length < 0:
                keyless += 1
                stays = False
            else:
                first, second = hash_key(data, places[_KEY, row], length)
                slot = find_slot(table, first, second)
                stays = np.int64(table[slot, 2]) - 1 <= offsets[row] and not (
                    drop_tombstones and places[_VALUE_LENGTH, row] < 0
                )
        kept[row] = stays
        if stays:
            count += 1
            if count == 1 or timestamps[row] > newest:
                newest = timestamps[row]
            if places[_VALUE_LENGTH, row] < 0:
                tombstones += 1
            length = end - start
            out[size : size + length] = data[start:end]
            size += length
        start = end
    return count, size, newest, keyless, tombstones


add_keys: Callable[..., tuple[int, int, int]] = compiled(_add_keys)
sift_rows: Callable[..., tuple[int, int, int, int, int]] = compiled(_sift_rows)
