"""The loops that put rows of columns into open batches, compiled by Numba for `open_batches`.

A target is a partition of a topic: a number, an open batch in the one buffer, a row in `state`.
Callers have checked that every row lies within its column's data.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.records.compiling import compiled
from headrace.records.encode_kernels import field_size, put_field, put_varint, varint_size

#: The columns of `state`.
USED, COUNT, BASE_TIMESTAMP, MAX_TIMESTAMP = range(4)

_SEED = 0x9747B28C
_MULTIPLIER = 0x5BD1E995
_MASK = 0xFFFFFFFF
_WITHOUT_SIGN = 0x7FFFFFFF

#: No partition is given for a row.
NOT_GIVEN = -1


def _murmur2(data: Any, start: int, length: int) -> int:
    """As `client.partitioner.murmur2`; 64-bit numbers, masked, never overflow a product here."""
    value = np.uint64(_SEED ^ length)
    multiplier, mask = np.uint64(_MULTIPLIER), np.uint64(_MASK)
    whole = start + (length & ~3)
    for position in range(start, whole, 4):
        word = (
            np.uint64(data[position])
            | np.uint64(data[position + 1]) << np.uint64(8)
            | np.uint64(data[position + 2]) << np.uint64(16)
            | np.uint64(data[position + 3]) << np.uint64(24)
        )
        word = word * multiplier & mask
        word ^= word >> np.uint64(24)
        value = (value * multiplier & mask) ^ (word * multiplier & mask)
    rest = length & 3
    if rest > 0:
        for index in range(rest):
            value ^= np.uint64(data[whole + index]) << np.uint64(8 * index)
        value = value * multiplier & mask
    value ^= value >> np.uint64(13)
    value = value * multiplier & mask
    value ^= value >> np.uint64(15)
    return np.int64(value)  # type: ignore[return-value]


murmur2: Callable[[Any, int, int], int] = compiled(_murmur2)


def _choose_targets(
    topics: Any,
    given: Any,
    key_data: Any,
    keys: Any,
    key_lengths: Any,
    first_targets: Any,
    partition_counts: Any,
    targets: Any,
) -> int:
    """Fill in each row's target; a row without key and partition gets -1 - topic.

    Returns the first row with a partition that its topic does not have, or -1.
    """
    for row in range(len(targets)):
        topic = topics[row]
        partition = given[row]
        if partition != NOT_GIVEN:
            if partition < 0 or partition >= partition_counts[topic]:
                return row
        elif key_lengths[row] < 0:
            targets[row] = -1 - topic
            continue
        else:
            value = murmur2(key_data, keys[row], key_lengths[row]) & _WITHOUT_SIGN
            partition = value % partition_counts[topic]
        targets[row] = first_targets[topic] + partition
    return -1


def _headers_size(start: int, count: int, name_lengths: Any, value_lengths: Any) -> int:
    size = varint_size(np.int64(count))
    for index in range(start, start + count):
        size += field_size(name_lengths[index]) + field_size(value_lengths[index])
    return int(size)


headers_size = compiled(_headers_size)


def _append_rows(
    row: int,
    targets: Any,
    sticky: Any,
    timestamps: Any,
    key_data: Any,
    keys: Any,
    key_lengths: Any,
    value_data: Any,
    values: Any,
    value_lengths: Any,
    headers: Any,
    header_counts: Any,
    name_data: Any,
    names: Any,
    name_lengths: Any,
    header_data: Any,
    header_values: Any,
    header_lengths: Any,
    buffer: Any,
    capacity: int,
    overhead: int,
    state: Any,
) -> int:
    """Append rows from `row` on, until all are in (returns their number) or one does not fit.

    `overhead` bytes in front of each open batch are left for its header.
    """
    while row < len(targets):
        target = targets[row]
        if target < 0:
            target = sticky[-1 - target]
        batch = state[target]
        if batch[COUNT] == 0:
            batch[USED] = overhead
            batch[BASE_TIMESTAMP] = timestamps[row]
            batch[MAX_TIMESTAMP] = timestamps[row]
        delta = timestamps[row] - batch[BASE_TIMESTAMP]
        size = (
            1
            + varint_size(delta)
            + varint_size(batch[COUNT])
            + field_size(key_lengths[row])
            + field_size(value_lengths[row])
            + headers_size(headers[row], header_counts[row], name_lengths, header_lengths)
        )
        if batch[USED] + varint_size(np.int64(size)) + size > capacity:
            return row
        origin = target * capacity
        position = put_varint(buffer, origin + batch[USED], np.int64(size))
        buffer[position] = 0  # attributes: none are defined for a record
        position = put_varint(buffer, position + 1, delta)
        position = put_varint(buffer, position, batch[COUNT])
        position = put_field(buffer, position, key_data, keys[row], key_lengths[row])
        position = put_field(buffer, position, value_data, values[row], value_lengths[row])
        position = put_varint(buffer, position, np.int64(header_counts[row]))
        for index in range(headers[row], headers[row] + header_counts[row]):
            position = put_field(buffer, position, name_data, names[index], name_lengths[index])
            position = put_field(
                buffer, position, header_data, header_values[index], header_lengths[index]
            )
        batch[USED] = position - origin
        batch[COUNT] += 1
        batch[MAX_TIMESTAMP] = max(batch[MAX_TIMESTAMP], timestamps[row])
        row += 1
    return row


choose_targets: Callable[..., int] = compiled(_choose_targets)
append_rows: Callable[..., int] = compiled(_append_rows)
