"""The error codes inside a response, wherever its definition has them."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from headrace.protocol.schema import Struct

ErrorFinder = Callable[[Any], list[int]]
#: Adds the codes that are not 0, of each of some structs, to the list.
_Collector = Callable[[Any, list[int]], None]

#: What responses call them; AddPartitionsToTxn has its own word.
_CODES = ("error_code", "partition_error_code")


def error_finder(struct: type[Struct]) -> ErrorFinder | None:
    """A function that gives every error code other than 0; None if the struct has no place for one.

    Worked out once for a class, so that a response is walked only where codes can be.
    """
    collect = _collector(struct)
    if collect is None:
        return None

    def find(response: Any) -> list[int]:
        codes: list[int] = []
        collect((response,), codes)
        return codes

    return find


def _collector(struct: type[Struct]) -> _Collector | None:
    nested: list[tuple[Callable[[Any], Any], bool, _Collector]] = []
    for name, field in struct.fields.items():
        inner = field.element if field.kind == "array" else field
        if inner is not None and inner.struct is not None:
            collect_inner = _collector(inner.struct)
            if collect_inner is not None:
                nested.append((attrgetter(name), field.kind == "array", collect_inner))
    code = next((attrgetter(name) for name in _CODES if name in struct.fields), None)
    if code is None and not nested:
        return None

    if code is None and len(nested) == 1 and nested[0][1]:
        return _collector_inside(nested[0][0], nested[0][2])
    if code is not None and not nested:
        return _collector_of_codes(code)

    def collect(values: Any, codes: list[int]) -> None:
        for value in values:
            if code is not None and code(value):
                codes.append(code(value))
            for get, is_array, collect_inner in nested:
                found = get(value)
                if found is not None:
                    collect_inner(found if is_array else (found,), codes)

    return collect


# Topics with partitions with a code each are what is asked most: two short ways for them.


def _collector_inside(get: Callable[[Any], Any], collect_inner: _Collector) -> _Collector:
    def collect(values: Any, codes: list[int]) -> None:
        for value in values:
            collect_inner(get(value) or (), codes)

    return collect


def _collector_of_codes(code: Callable[[Any], int]) -> _Collector:
    def collect(values: Any, codes: list[int]) -> None:
        codes += filter(None, map(code, values))

    return collect
