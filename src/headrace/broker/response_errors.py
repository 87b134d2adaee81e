"""The error codes inside a response, wherever its definition has them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from headrace.protocol.schema import Struct

ErrorFinder = Callable[[Any], Iterator[int]]

#: What responses call them; AddPartitionsToTxn has its own word.
_CODES = ("error_code", "partition_error_code")


def error_finder(struct: type[Struct]) -> ErrorFinder | None:
    """A function that gives every error code other than 0; None if the struct has no place for one.

    Worked out once for a class, so that a response is walked only where codes can be.
    """
    nested: list[tuple[str, bool, ErrorFinder]] = []
    for name, field in struct.fields.items():
        inner = field.element if field.kind == "array" else field
        if inner is not None and inner.struct is not None:
            finder = error_finder(inner.struct)
            if finder is not None:
                nested.append((name, field.kind == "array", finder))
    code = next((name for name in _CODES if name in struct.fields), "")
    if not code and not nested:
        return None

    def find(value: Any) -> Iterator[int]:
        if code and getattr(value, code):
            yield getattr(value, code)
        for name, is_array, finder in nested:
            inner = getattr(value, name)
            for one in (inner or ()) if is_array else (inner,):
                if one is not None:
                    yield from finder(one)

    return find
