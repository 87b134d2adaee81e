"""The instructions of decode programs, and what may be wrong with a row.

An instruction is `WIDTH` numbers: which one it is, and up to five operands, named here in order.
`level` is the counter that says at which index to write, `region` a place in memory (see `layout`).
"""

from __future__ import annotations

WIDTH = 6

END = 0
# ---------------------------------------------------------------- what begins with a number
# The machine reads the number of these in one place, where the compiler can put it in line.
LONG = 1  # level, region
INT = 2  # level, region
#: wire (0 int, 1 long), store (2 float, 3 double, 1 long), level, region, factor (below 0: divisor)
NUMBER = 3
STRING = 4  # level, offsets region, content region, counter
BYTES = 5  # the same
UNION = 6  # table with the number of branches and where each goes on
ENUM = 7  # level, offsets region, content region, counter, table
BLOCK = 8  # level, offsets region, items' counter, smallest size of an item, where it goes on
DECIMAL = 9  # level, region, table with the limit
SKIP_NUMBER = 10
SKIP_BYTES = 11
SKIP_BLOCK = 12  # smallest size of an item, where it goes on
LAST_WITH_NUMBER = SKIP_BLOCK
# ---------------------------------------------------------------- values of a known size
DOUBLE = 13  # level, region
FLOAT = 14  # level, region
FLOAT_TO_DOUBLE = 15  # level, region
BOOLEAN = 16  # level, region
FIXED = 17  # level, offsets region, content region, counter, size
FIXED_DECIMAL = 18  # level, region, table with the limit, size
SKIP_FIXED = 19  # size
# ---------------------------------------------------------------- arrays and maps
REPEAT = 20
NEXT = 21  # items' counter, where the block is read
SKIP_NEXT = 22  # where the block is read
# ---------------------------------------------------------------- values that are not in the data
ABSENT = 23  # level, validity region
NO_VALUE = 24  # level, region, width
NO_CONTENT = 25  # level, offsets region, counter
CONSTANT = 26  # level, region, width, value
CONTENT = 27  # level, offsets region, content region, counter, table
ITEM = 28  # items' counter: one item of a default is complete
ROOM = 29  # items' counter, how many
# ---------------------------------------------------------------- the way
CALL = 30  # where a type that contains itself is skipped
RETURN = 31
JUMP = 32  # where to
FAIL = 33  # message

# ---------------------------------------------------------------- what may be wrong
SOUND = 0
ENDS_EARLY = 1
LONG_NUMBER = 2
INT_RANGE = 3
BAD_LENGTH = 4
NOT_UTF8 = 5
NO_BRANCH = 6
NO_SYMBOL = 7
UNKNOWN_SYMBOL = 8
TOO_MANY_ITEMS = 9
TOO_MANY_EMPTY_ITEMS = 10
DECIMAL_RANGE = 11
TIME_RANGE = 12
TOO_DEEP = 13
UNREADABLE = 14
TOO_SHORT = 15
NO_MAGIC = 16
TOO_LARGE = 17

REASONS = {
    ENDS_EARLY: "the data ends inside the value",
    LONG_NUMBER: "a number has too many bytes",
    INT_RANGE: "the number does not fit an int",
    BAD_LENGTH: "the length is negative",
    NOT_UTF8: "the text is not UTF-8",
    NO_BRANCH: "the union has no such branch",
    NO_SYMBOL: "the enum has no symbol of this number",
    UNKNOWN_SYMBOL: "the reader's enum does not have the symbol, and no default",
    TOO_MANY_ITEMS: "there are more items announced than the data can hold",
    TOO_MANY_EMPTY_ITEMS: "there are more than 1000 items without any data",
    DECIMAL_RANGE: "the decimal has more digits than its precision",
    TIME_RANGE: "the timestamp is out of range",
    TOO_DEEP: "the value is nested too deeply",
    TOO_LARGE: "the value is too large",
}

# ---------------------------------------------------------------- why the kernel stopped
DONE = 0
GROW = 1  # a counter is at its capacity
UNKNOWN_SCHEMA = 2  # there is no program yet for a schema id
