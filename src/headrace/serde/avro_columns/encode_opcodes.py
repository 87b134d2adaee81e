"""The instructions of encode programs, and what may be wrong with a row.

As in `opcodes`: `level` says whose current index to read at, `region` where the column lies. A
region of a column without nulls lies nowhere (-1).
"""

from __future__ import annotations

WIDTH = 6

END = 0
LONG = 1  # level, region
INT = 2  # level, region
TIME = 3  # level, region, divisor (below 0: factor)
DOUBLE = 4  # level, region
FLOAT = 5  # level, region
FLOAT_TO_DOUBLE = 6  # level, region
INT_TO_DOUBLE = 7  # level, region
BOOLEAN = 8  # level, region
BYTES = 9  # level, offsets region, content region, size (-1: any, with its length in front)
ENUM = 10  # level, offsets region, content region, table
DECIMAL = 11  # level, region, size (-1: the shortest, with its length in front)
#: level, validity region, branch of null, branch of the value (-1: said later), where null goes on
NULLABLE = 12
REQUIRED = 13  # level, validity region
MEMBERS = 14  # level, table of (validity region, branch, where it goes on)
CONSTANT = 15  # where it is among the constants, length
REPEAT = 16  # level, offsets region, level of the items, where it goes on
NEXT = 17  # level of the items, where they begin
JUMP = 18  # where to
NULL_OF_MEMBERS = 19  # branch: none of the members is there

SOUND = 0
IS_NULL = 1
WRONG_SIZE = 2
NO_SYMBOL = 3
TOO_LARGE = 4
TIME_RANGE = 5
NO_MEMBER = 6

REASONS = {
    IS_NULL: "it is null, and its type has no null",
    WRONG_SIZE: "its length is not that of its fixed type",
    NO_SYMBOL: "the enum has no such symbol",
    TOO_LARGE: "the decimal does not fit its fixed type",
    TIME_RANGE: "the timestamp is out of range",
    NO_MEMBER: "not exactly one member of the union is there",
}

DONE = 0
GROW = 1
