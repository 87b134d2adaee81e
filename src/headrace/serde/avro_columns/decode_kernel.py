"""The machine that runs decode programs over the rows of a binary column.

One compiled function for all schemas: a program says what to read and where to put it. Nothing in
the data can make it read or write outside of its arrays, or run longer than the data is long: each
turn back in a program costs a byte of the row, or one of a bounded number of empty items. A row
that fails is taken back and written as null. When memory is at its end, or a schema is not known,
the machine stops at the beginning of that row, and goes on there when called again.
"""

from typing import Any

import numpy as np

from headrace.records.compiling import compiled
from headrace.serde.avro_columns import opcodes as op
from headrace.serde.avro_columns.wire_kernels import (
    copy_content,
    decimal_halves,
    has_digits,
    is_utf8,
    varint,
)

_EMPTY_ITEMS_MAX = 1000
_HEADER = 5
_INT_MIN, _INT_MAX = -(2**31), 2**31 - 1
_LONG_MAX = 2**63 - 1
_LAST_SHIFT = 63

# Globals of the module are constants to the compiler; attributes of another module are as well.
WIDTH = op.WIDTH


@compiled
def _early(position: int) -> int:
    return op.ENDS_EARLY if position == -1 else op.LONG_NUMBER


@compiled
def _scaled(value: Any, factor: int) -> Any:
    """A number times a factor, or divided by it if it is negative; and whether it fits."""
    if factor == 1:
        return value, True
    if factor < 0:
        return value // -factor, True
    if value > _LONG_MAX // factor or value < -(_LONG_MAX // factor):
        return value, False
    return value * factor, True


@compiled
def _find_entry(schema_id: Any, schema_ids: Any, entries: Any) -> int:
    for index in range(len(schema_ids)):
        if schema_ids[index] == schema_id:
            return int(entries[index])
    return -1


@compiled
def decode_rows(  # noqa: C901 - one switch over all instructions
    rows: Any,
    program: Any,
    memory: Any,
    counters: Any,
    errors: Any,
    state: Any,
) -> int:
    """Decode from row `state[0]` on; say why it stopped.

    rows: data, where each row begins and ends, whether it is there (empty: all are)
    program: code, tables, constants, schema ids, where the program of each begins
    memory: the same bytes as uint8, int32, int64, float32 and float64, where regions begin, and
        for each counter which regions say of its items whether they are there
    counters: how many of each there are, how many there may be, counts when the row began, a stack
    errors: per row what was wrong, and at which instruction
    state: the row, the counter that is at its end and how much it needs, or the schema id
    """
    data, starts, stops, validity = rows
    code, tables, constants, schema_ids, entries = program
    bytes_, ints, longs, floats, doubles, bases, presence = memory
    counts, caps, saved, stack = counters
    failures, places = errors
    last_id: Any = np.int64(-1)
    last_entry = -1
    row_count = len(starts)
    depth_max = len(stack)
    for row in range(state[0], row_count):
        position, end = starts[row], stops[row]
        for index in range(len(counts)):
            saved[index] = counts[index]
        failure = op.SOUND
        pc = 0  # where null is written
        if len(validity) == 0 or validity[row] != 0:
            if end - position < _HEADER:
                failure = op.TOO_SHORT
            elif data[position] != 0:
                failure = op.NO_MAGIC
            else:
                schema_id = (
                    (np.int64(data[position + 1]) << 24)
                    | (np.int64(data[position + 2]) << 16)
                    | (np.int64(data[position + 3]) << 8)
                    | np.int64(data[position + 4])
                )
                if schema_id != last_id:
                    last_id, last_entry = schema_id, _find_entry(schema_id, schema_ids, entries)
                    if last_entry < 0:
                        state[0], state[1] = row, schema_id
                        return op.UNKNOWN_SCHEMA
                pc = last_entry
                position += _HEADER
        if failure != op.SOUND:
            failures[row] = failure
            pc = 0
        depth = 0
        empty_items = 0
        while True:
            code_ = code[pc]
            number: Any = np.int64(0)
            if code_ <= op.LAST_WITH_NUMBER and code_ != op.END:
                failure = op.ENDS_EARLY
                shift = 0
                while position < end:
                    byte = np.int64(data[position])
                    position += 1
                    number |= (byte & 0x7F) << shift
                    if byte < 0x80:
                        failure = op.SOUND
                        break
                    shift += 7
                    if shift > _LAST_SHIFT:
                        failure = op.LONG_NUMBER
                        break
                number = (number >> 1 & _LONG_MAX) ^ -(number & 1)
            if failure != op.SOUND:
                pass
            elif code_ == op.LONG:
                longs[(bases[code[pc + 2]] >> 3) + counts[code[pc + 1]]] = number
            elif code_ == op.STRING or code_ == op.BYTES or code_ == op.FIXED:
                length = code[pc + 5] if code_ == op.FIXED else number
                if length < 0:
                    failure = op.BAD_LENGTH
                elif length > end - position:
                    failure = op.ENDS_EARLY
                else:
                    counter = code[pc + 4]
                    used = counts[counter]
                    if length > caps[counter] - used:
                        for index in range(len(counts)):
                            counts[index] = saved[index]
                        state[0], state[1], state[2] = row, counter, used + length
                        return op.GROW
                    at = bases[code[pc + 3]] + used
                    seen = np.uint8(0)
                    # Slices begin at 0: the loop over them needs no check for indexes from the end.
                    source, target = data[position : position + length], bytes_[at : at + length]
                    for index in range(length):
                        target[index] = source[index]
                        seen |= source[index]
                    if code_ == op.STRING and seen >= 0x80 and not is_utf8(bytes_, at, at + length):
                        failure = op.NOT_UTF8
                    position += length
                    counts[counter] = used + length
                    ints[(bases[code[pc + 2]] >> 2) + counts[code[pc + 1]] + 1] = used + length
            elif code_ == op.UNION:
                table = code[pc + 1]
                if number < 0 or number >= tables[table]:
                    failure = op.NO_BRANCH
                else:
                    pc = tables[table + 1 + number] - WIDTH
            elif code_ == op.INT:
                if number < _INT_MIN or number > _INT_MAX:
                    failure = op.INT_RANGE
                else:
                    ints[(bases[code[pc + 2]] >> 2) + counts[code[pc + 1]]] = number
            elif code_ == op.JUMP:
                pc = code[pc + 1] - WIDTH
            elif code_ == op.END:
                break
            elif code_ == op.DOUBLE or code_ == op.FLOAT or code_ == op.FLOAT_TO_DOUBLE:
                size = 8 if code_ == op.DOUBLE else 4
                if end - position < size:
                    failure = op.ENDS_EARLY
                else:
                    # Byte by byte: the data is aligned to nothing. Bits keep their payload.
                    bits = np.int64(0)
                    for index in range(size):
                        bits |= np.int64(data[position + index]) << (8 * index)
                    position += size
                    index = counts[code[pc + 1]]
                    base = bases[code[pc + 2]]
                    if code_ == op.DOUBLE:
                        longs[(base >> 3) + index] = bits
                    elif code_ == op.FLOAT:
                        ints[(base >> 2) + index] = bits
                    else:
                        # The first bytes of the memory are nobody's: to see bits as a number.
                        ints[0] = bits
                        doubles[(base >> 3) + index] = np.float64(floats[0])
            elif code_ == op.BOOLEAN:
                if position >= end:
                    failure = op.ENDS_EARLY
                else:
                    bytes_[bases[code[pc + 2]] + counts[code[pc + 1]]] = data[position] == 1
                    position += 1
            elif code_ == op.NUMBER:
                if code[pc + 1] == 0 and (number < _INT_MIN or number > _INT_MAX):
                    failure = op.INT_RANGE
                else:
                    index = counts[code[pc + 3]]
                    base = bases[code[pc + 4]]
                    store = code[pc + 2]
                    if store == 1:
                        number, fits = _scaled(number, code[pc + 5])
                        longs[(base >> 3) + index] = number
                        if not fits:
                            failure = op.TIME_RANGE
                    elif store == 2:
                        floats[(base >> 2) + index] = np.float32(number)
                    else:
                        doubles[(base >> 3) + index] = np.float64(number)
            elif code_ == op.ENUM:
                table = code[pc + 5]
                if number < 0 or number >= tables[table]:
                    failure = op.NO_SYMBOL
                elif tables[table + 2 + 2 * number] < 0:
                    failure = op.UNKNOWN_SYMBOL
                else:
                    length = tables[table + 2 + 2 * number]
                    counter = code[pc + 4]
                    used = counts[counter]
                    if length > caps[counter] - used:
                        for index in range(len(counts)):
                            counts[index] = saved[index]
                        state[0], state[1], state[2] = row, counter, used + length
                        return op.GROW
                    at = bases[code[pc + 3]] + used
                    copy_content(constants, tables[table + 1 + 2 * number], length, bytes_, at)
                    counts[counter] = used + length
                    ints[(bases[code[pc + 2]] >> 2) + counts[code[pc + 1]] + 1] = used + length
            elif code_ == op.DECIMAL or code_ == op.FIXED_DECIMAL:
                length = code[pc + 4] if code_ == op.FIXED_DECIMAL else number
                if length < 0:
                    failure = op.BAD_LENGTH
                elif length > end - position:
                    failure = op.ENDS_EARLY
                else:
                    high, low, fits = decimal_halves(data, position, length)
                    position += length
                    table = code[pc + 3]
                    if fits and has_digits(high, low, tables[table], tables[table + 1]):
                        at = (bases[code[pc + 2]] >> 3) + 2 * counts[code[pc + 1]]
                        longs[at], longs[at + 1] = low, high
                    else:
                        failure = op.DECIMAL_RANGE
            elif code_ == op.REPEAT:
                if depth >= depth_max:
                    failure = op.TOO_DEEP
                else:
                    stack[depth] = 0
                    depth += 1
            elif code_ == op.BLOCK:
                count = number
                if count < 0:
                    # The size in bytes that follows is for those who skip.
                    count = -count
                    _, position = varint(data, position, end)
                smallest = code[pc + 4]
                items = code[pc + 3]
                if position < 0:
                    failure = _early(position)
                elif count == 0:
                    depth -= 1
                    ints[(bases[code[pc + 2]] >> 2) + counts[code[pc + 1]] + 1] = counts[items]
                    pc = code[pc + 5] - WIDTH
                elif count < 0 or (smallest > 0 and count > (end - position) // smallest):
                    failure = op.TOO_MANY_ITEMS
                elif smallest == 0 and count > _EMPTY_ITEMS_MAX - empty_items:
                    failure = op.TOO_MANY_EMPTY_ITEMS
                elif count > caps[items] - counts[items]:
                    needed = counts[items] + count
                    for index in range(len(counts)):
                        counts[index] = saved[index]
                    state[0], state[1], state[2] = row, items, needed
                    return op.GROW
                else:
                    if smallest == 0:
                        empty_items += count
                    stack[depth - 1] = count
            elif code_ == op.NEXT:
                counts[code[pc + 1]] += 1
                stack[depth - 1] -= 1
                # Behind the block's instruction if there are items left in it, else on it.
                pc = code[pc + 2] - (WIDTH if stack[depth - 1] == 0 else 0)
            elif code_ == op.ABSENT:
                bytes_[bases[code[pc + 2]] + counts[code[pc + 1]]] = 0
            elif code_ == op.NO_VALUE:
                width = code[pc + 3]
                at = bases[code[pc + 2]] + counts[code[pc + 1]] * width
                for index in range(width):
                    bytes_[at + index] = 0
            elif code_ == op.NO_CONTENT:
                at = (bases[code[pc + 2]] >> 2) + counts[code[pc + 1]] + 1
                ints[at] = counts[code[pc + 3]]
            elif code_ == op.CONSTANT:
                index = counts[code[pc + 1]]
                base = bases[code[pc + 2]]
                if code[pc + 3] == 8:
                    longs[(base >> 3) + index] = code[pc + 4]
                elif code[pc + 3] == 4:
                    ints[(base >> 2) + index] = code[pc + 4]
                elif code[pc + 3] == 16:
                    longs[(base >> 3) + 2 * index] = code[pc + 4]
                    longs[(base >> 3) + 2 * index + 1] = code[pc + 5]
                else:
                    bytes_[base + index] = code[pc + 4]
            elif code_ == op.CONTENT:
                table = code[pc + 5]
                length = tables[table + 1]
                counter = code[pc + 4]
                used = counts[counter]
                if length > caps[counter] - used:
                    for index in range(len(counts)):
                        counts[index] = saved[index]
                    state[0], state[1], state[2] = row, counter, used + length
                    return op.GROW
                copy_content(constants, tables[table], length, bytes_, bases[code[pc + 3]] + used)
                counts[counter] = used + length
                ints[(bases[code[pc + 2]] >> 2) + counts[code[pc + 1]] + 1] = used + length
            elif code_ == op.ROOM:
                items = code[pc + 1]
                if code[pc + 2] > caps[items] - counts[items]:
                    needed = counts[items] + code[pc + 2]
                    for index in range(len(counts)):
                        counts[index] = saved[index]
                    state[0], state[1], state[2] = row, items, needed
                    return op.GROW
            elif code_ == op.ITEM:
                counts[code[pc + 1]] += 1
            elif code_ == op.SKIP_NUMBER:
                pass
            elif code_ == op.SKIP_BYTES or code_ == op.SKIP_FIXED:
                length = number if code_ == op.SKIP_BYTES else code[pc + 1]
                if length < 0:
                    failure = op.BAD_LENGTH
                elif length > end - position:
                    failure = op.ENDS_EARLY
                else:
                    position += length
            elif code_ == op.SKIP_BLOCK:
                count = number
                if count == 0:
                    depth -= 1
                    pc = code[pc + 2] - WIDTH
                elif count < 0:
                    length, position = varint(data, position, end)
                    if position < 0:
                        failure = _early(position)
                    elif length < 0:
                        failure = op.BAD_LENGTH
                    elif length > end - position:
                        failure = op.ENDS_EARLY
                    else:
                        position += length
                        pc -= WIDTH
                elif code[pc + 1] == 0:
                    pc -= WIDTH
                elif count > (end - position) // code[pc + 1]:
                    failure = op.TOO_MANY_ITEMS
                else:
                    stack[depth - 1] = count
            elif code_ == op.SKIP_NEXT:
                stack[depth - 1] -= 1
                pc = code[pc + 1] - (WIDTH if stack[depth - 1] == 0 else 0)
            elif code_ == op.CALL:
                if depth >= depth_max:
                    failure = op.TOO_DEEP
                else:
                    stack[depth] = pc
                    depth += 1
                    pc = code[pc + 1] - WIDTH
            elif code_ == op.RETURN:
                depth -= 1
                pc = stack[depth]
            else:
                failure = op.UNREADABLE
            if failure == op.SOUND:
                pc += WIDTH
                continue
            # Take the row back and write null instead, which cannot fail.
            failures[row], places[row] = failure, pc
            for index in range(len(presence)):
                counter = presence[index, 1]
                base = bases[presence[index, 0]]
                for at in range(saved[counter], min(counts[counter] + 1, caps[counter])):
                    bytes_[base + at] = 1
            for index in range(len(counts)):
                counts[index] = saved[index]
            failure = op.SOUND
            pc = 0
        counts[0] = row + 1
    state[0] = row_count
    return op.DONE
