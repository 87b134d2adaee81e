"""The machine that runs encode programs: rows of columns to Avro in the registry's wire format.

The counterpart of `decode_kernel`. Columns come from Arrow and were checked by it; what has to be
watched here is the room for what is written. When it ends, the machine stops at the beginning of
the row and goes on there when called again.
"""

from typing import Any

import numpy as np

from headrace.records.compiling import compiled
from headrace.records.encode_kernels import put_varint
from headrace.serde.avro_columns import encode_opcodes as op

WIDTH = op.WIDTH
_NUMBER_BYTES = 10
_LONG_MAX = 2**63 - 1


@compiled
def _put_bits(out: Any, position: int, bits: Any, size: int) -> int:
    for index in range(size):
        out[position + index] = (bits >> (8 * index)) & 0xFF
    return position + size


@compiled
def _put_content(out: Any, position: int, source: Any, start: int, length: int) -> int:
    # Slices begin at 0: the loop over them needs no check for indexes from the end.
    target, content = out[position : position + length], source[start : start + length]
    for index in range(length):
        target[index] = content[index]
    return position + length


@compiled
def _symbol_of(
    content: Any, start: int, length: int, tables: Any, table: int, constants: Any
) -> int:
    for symbol in range(tables[table]):
        if tables[table + 2 + 2 * symbol] == length:
            at = tables[table + 1 + 2 * symbol]
            index = 0
            while index < length and content[start + index] == constants[at + index]:
                index += 1
            if index == length:
                return symbol
    return -1


@compiled
def _decimal_size(low: Any, high: Any) -> int:
    """The fewest bytes that hold the number and its sign."""
    size = 16
    sign = high < 0
    while size > 1:
        at = size - 1
        byte = ((high if at >= 8 else low) >> (8 * (at & 7))) & 0xFF
        at -= 1
        below = ((high if at >= 8 else low) >> (8 * (at & 7))) & 0xFF
        if byte != (0xFF if sign else 0) or (below >= 0x80) != sign:
            break
        size -= 1
    return size


@compiled
def encode_rows(  # noqa: C901 - one switch over all instructions
    program: Any, memory: Any, indexes: Any, header: Any, output: Any, state: Any
) -> int:
    """Encode from row `state[0]` on, from position `state[1]` of the output on.

    program: code, tables, constants
    memory: the columns' bytes as uint8, int32, int64, float32 and float64; where regions begin
    indexes: the current index of each level, where the items of each end
    header: what each record begins with
    output: bytes, where each row ends, what is wrong with each row, and at which instruction
    """
    code, tables, constants = program
    bytes_, ints, longs, floats, doubles, bases = memory
    current, ends = indexes
    out, stops, failures, places = output
    room = len(out)
    position = state[1]
    for row in range(state[0], len(stops)):
        start = position
        current[0] = row
        failure = op.SOUND
        pc = 0
        is_null = bases[0] >= 0 and bytes_[bases[0] + row] == 0
        if not is_null:
            if room - position < len(header):
                state[0], state[1], state[2] = row, start, len(header)
                return op.GROW
            position = _put_content(out, position, header, 0, len(header))
        while not is_null:
            code_ = code[pc]
            # Enough for any number; whatever has a length of its own looks again.
            needed = 2 * _NUMBER_BYTES
            if room - position < needed:
                state[0], state[1], state[2] = row, start, needed
                return op.GROW
            if code_ == op.LONG:
                number = longs[(bases[code[pc + 2]] >> 3) + current[code[pc + 1]]]
                position = put_varint(out, position, number)
            elif code_ == op.BYTES:
                at = (bases[code[pc + 2]] >> 3) + current[code[pc + 1]]
                length = longs[at + 1] - longs[at]
                if room - position < length + _NUMBER_BYTES:
                    state[0], state[1], state[2] = row, start, length + _NUMBER_BYTES
                    return op.GROW
                if code[pc + 4] < 0:
                    position = put_varint(out, position, length)
                elif code[pc + 4] != length:
                    failure = op.WRONG_SIZE
                first = bases[code[pc + 3]] + longs[at]
                target, source = out[position : position + length], bytes_[first : first + length]
                for index in range(length):
                    target[index] = source[index]
                position += length
            elif code_ == op.NULLABLE:
                base = bases[code[pc + 2]]
                if base >= 0 and bytes_[base + current[code[pc + 1]]] == 0:
                    position = put_varint(out, position, code[pc + 3])
                    pc = code[pc + 5] - WIDTH
                elif code[pc + 4] >= 0:
                    position = put_varint(out, position, code[pc + 4])
            elif code_ == op.REQUIRED:
                base = bases[code[pc + 2]]
                if base >= 0 and bytes_[base + current[code[pc + 1]]] == 0:
                    failure = op.IS_NULL
            elif code_ == op.INT:
                number = np.int64(ints[(bases[code[pc + 2]] >> 2) + current[code[pc + 1]]])
                position = put_varint(out, position, number)
            elif code_ == op.DOUBLE:
                bits = longs[(bases[code[pc + 2]] >> 3) + current[code[pc + 1]]]
                position = _put_bits(out, position, bits, 8)
            elif code_ == op.END:
                break
            elif code_ == op.JUMP:
                pc = code[pc + 1] - WIDTH
            elif code_ == op.FLOAT:
                bits = np.int64(ints[(bases[code[pc + 2]] >> 2) + current[code[pc + 1]]])
                position = _put_bits(out, position, bits, 4)
            elif code_ == op.FLOAT_TO_DOUBLE or code_ == op.INT_TO_DOUBLE:
                at = (bases[code[pc + 2]] >> 2) + current[code[pc + 1]]
                # The first bytes of the memory are nobody's: to see a number as bits.
                if code_ == op.FLOAT_TO_DOUBLE:
                    doubles[0] = np.float64(floats[at])
                else:
                    doubles[0] = np.float64(ints[at])
                position = _put_bits(out, position, longs[0], 8)
            elif code_ == op.BOOLEAN:
                out[position] = bytes_[bases[code[pc + 2]] + current[code[pc + 1]]]
                position += 1
            elif code_ == op.TIME:
                number = longs[(bases[code[pc + 2]] >> 3) + current[code[pc + 1]]]
                divisor = code[pc + 3]
                if divisor > 0:
                    number = number // divisor
                elif abs(number) > _LONG_MAX // -divisor or number == -_LONG_MAX - 1:
                    failure = op.TIME_RANGE
                else:
                    number = number * -divisor
                position = put_varint(out, position, number)
            elif code_ == op.ENUM:
                at = (bases[code[pc + 2]] >> 3) + current[code[pc + 1]]
                length = longs[at + 1] - longs[at]
                content = bases[code[pc + 3]] + longs[at]
                symbol = _symbol_of(bytes_, content, length, tables, code[pc + 4], constants)
                if symbol < 0:
                    failure = op.NO_SYMBOL
                else:
                    position = put_varint(out, position, np.int64(symbol))
            elif code_ == op.DECIMAL:
                at = (bases[code[pc + 2]] >> 3) + 2 * current[code[pc + 1]]
                low, high = longs[at], longs[at + 1]
                size = _decimal_size(low, high)
                fixed = code[pc + 3]
                if fixed >= 0 and size > fixed:
                    failure = op.TOO_LARGE
                else:
                    if room - position < max(fixed, 16) + _NUMBER_BYTES:
                        state[0], state[1], state[2] = row, start, fixed + 32
                        return op.GROW
                    if fixed < 0:
                        position = put_varint(out, position, np.int64(size))
                        fixed = size
                    for index in range(fixed - 1, -1, -1):
                        half = high if index >= 8 else low
                        byte = (half >> (8 * (index & 7))) & 0xFF
                        if index >= 16:
                            byte = np.int64(0xFF) if high < 0 else np.int64(0)
                        out[position] = byte
                        position += 1
            elif code_ == op.MEMBERS:
                table = code[pc + 2]
                index = current[code[pc + 1]]
                there = 0
                chosen = 0
                for member in range(tables[table]):
                    base = bases[tables[table + 1 + 3 * member]]
                    if base < 0 or bytes_[base + index] != 0:
                        there += 1
                        chosen = table + 1 + 3 * member
                if there == 1:
                    position = put_varint(out, position, tables[chosen + 1])
                    pc = tables[chosen + 2] - WIDTH
                elif there > 1:
                    failure = op.NO_MEMBER
                # None of them: the next instruction says what that means.
            elif code_ == op.NULL_OF_MEMBERS:
                if code[pc + 1] < 0:
                    failure = op.NO_MEMBER
                else:
                    position = put_varint(out, position, code[pc + 1])
            elif code_ == op.CONSTANT:
                length = code[pc + 2]
                if room - position < length:
                    state[0], state[1], state[2] = row, start, length
                    return op.GROW
                position = _put_content(out, position, constants, code[pc + 1], length)
            elif code_ == op.REPEAT:
                at = (bases[code[pc + 2]] >> 3) + current[code[pc + 1]]
                count = longs[at + 1] - longs[at]
                if count == 0:
                    out[position] = 0
                    position += 1
                    pc = code[pc + 4] - WIDTH
                else:
                    position = put_varint(out, position, count)
                    current[code[pc + 3]] = longs[at]
                    ends[code[pc + 3]] = longs[at + 1]
            elif code_ == op.NEXT:
                level = code[pc + 1]
                current[level] += 1
                if current[level] < ends[level]:
                    pc = code[pc + 2] - WIDTH
                else:
                    out[position] = 0
                    position += 1
            if failure != op.SOUND:
                failures[row], places[row] = failure, pc
                position = start
                break
            pc += WIDTH
        stops[row] = position
    state[1] = position
    return op.DONE
