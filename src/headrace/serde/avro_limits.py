"""What Avro data may ask of a reader, checked before fastavro reads it.

A few bytes can describe a value without an end: an array of a trillion nulls, which take no bytes
each, or a record that contains itself a hundred thousand times, for which fastavro would need
more stack than a thread has. Most schemas allow neither, and their data is not looked at here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from headrace.serde.avro_types import AvroTypes
from headrace.serde.errors import SerdeError
from headrace.serde.zigzag import read_zigzag

#: Records, arrays and maps inside one another.
NESTING_MAX = 1000
#: Items that take no bytes, in all arrays of a value.
EMPTY_ITEMS_MAX = 1_000_000
_VARINT_BYTES_MAX = 10
_SIZES = {"null": 0, "boolean": 1, "float": 4, "double": 8}
_NUMBERS = ("int", "long", "enum")
_TEXTS = ("bytes", "string")

Check = Callable[[bytes, int], None]


def find_check(schema: Any, named: Mapping[str, Any]) -> Check | None:
    """What has to look at data of this schema first; None if nothing has to."""
    types = AvroTypes(named)
    if types.has_empty_items(schema) or types.has_endless_records(schema):
        return _Walk(types, schema).check
    if not types.may_be_deeper(schema, NESTING_MAX):
        return None
    walk = _Walk(types, schema)
    # Between two bytes there are at most as many levels as there are records to be in.
    harmless_bytes = NESTING_MAX // (types.count_records(schema) + 1) - 1

    def check(data: bytes, at: int) -> None:
        if len(data) - at > harmless_bytes:
            walk.check(data, at)

    return check


class _Walk:
    """Steps over the data of a schema, value by value; nothing is kept but what is open."""

    def __init__(self, types: AvroTypes, schema: Any) -> None:
        self._types = types
        self._schema = schema

    def check(self, data: bytes, at: int) -> None:
        """`SerdeError` if the data is too deep, too much, or ends too early."""
        left = EMPTY_ITEMS_MAX
        #: What is still to come of each open record, array and map.
        open_: list[Iterator[Any]] = [iter((self._schema,))]
        position = [at]
        while open_:
            schema = next(open_[-1], None)
            if schema is None:
                open_.pop()
                continue
            kind, schema = self._types.of(schema)
            while kind == "union":
                kind, schema = self._types.of(self._branch(schema, data, position))
            if kind == "record":
                open_.append(iter(self._types.inside(schema)))
            elif kind == "array" and self._types.is_empty(schema["items"]):
                left -= sum(_blocks(data, position))
                if left < 0:
                    raise SerdeError(
                        "The data is not Avro of its schema: an array has more than"
                        f" {EMPTY_ITEMS_MAX} items without any bytes."
                    )
            elif kind in ("array", "map"):
                open_.append(self._items(kind, schema, data, position))
            else:
                _skip(kind, schema, data, position)
            if len(open_) > NESTING_MAX:
                raise SerdeError(f"The data is nested deeper than {NESTING_MAX} levels.")

    def _branch(self, branches: list[Any], data: bytes, position: list[int]) -> Any:
        index = _number(data, position)
        if not 0 <= index < len(branches):
            raise _broken("a union has no such branch")
        return branches[index]

    def _items(self, kind: str, schema: Any, data: bytes, position: list[int]) -> Iterator[Any]:
        for count in _blocks(data, position):
            for _ in range(count):
                if kind == "map":
                    _skip("string", None, data, position)
                    yield schema["values"]
                else:
                    yield schema["items"]


def _blocks(data: bytes, position: list[int]) -> Iterator[int]:
    """The number of items in each block; a negative one is followed by the block's size."""
    while count := _number(data, position):
        if count < 0:
            count = -count
            _number(data, position)
        yield count


def _skip(kind: str, schema: Any, data: bytes, position: list[int]) -> None:
    if kind in _NUMBERS:
        _number(data, position)
        return
    if kind in _TEXTS:
        size = _number(data, position)
    else:
        size = schema["size"] if kind == "fixed" else _SIZES[kind]
    if size < 0 or size > len(data) - position[0]:
        raise _broken("it ends too early")
    position[0] += size


def _number(data: bytes, position: list[int]) -> int:
    found = read_zigzag(data, position[0], _VARINT_BYTES_MAX)
    if found is None:
        raise _broken("it ends too early, or a number in it is too long")
    value, position[0] = found
    return value


def _broken(what: str) -> SerdeError:
    return SerdeError(f"The data is not Avro of its schema: {what}.")
