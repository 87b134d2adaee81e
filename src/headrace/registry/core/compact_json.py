"""JSON without spaces, the order kept, numbers as Java writes them.

Stored texts decide about identity, and registries of both makes may share them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

from headrace.registry.errors import InvalidSchemaError

#: Outside of these Java writes a number with an exponent.
_PLAIN_MIN, _PLAIN_MAX = 1e-3, 1e7
_DEPTH_MAX = 200


def load(text: str) -> Any:
    """Read JSON that somebody sent: bounded in depth, without NaN and infinities."""
    try:
        value = json.loads(text, parse_constant=_refuse)
    except RecursionError:
        raise InvalidSchemaError("The schema is nested too deeply") from None
    except ValueError as error:
        raise InvalidSchemaError(f"Invalid schema: it is no JSON ({error})") from None
    _check_depth(value)
    return value


def dump(value: Any) -> str:
    if not any(isinstance(one, float) for level in _levels(value) for one in level):
        # Only doubles are written otherwise than Python writes them.
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if isinstance(value, dict):
        pairs = (f"{_text(name)}:{dump(one)}" for name, one in value.items())
        return "{" + ",".join(pairs) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(dump, value)) + "]"
    return _double(value)


def ordered(value: Any) -> Any:
    """The same with the names of every object in alphabetical order."""
    if isinstance(value, dict):
        return {name: ordered(value[name]) for name in sorted(value)}
    if isinstance(value, list):
        return [ordered(one) for one in value]
    return value


def _check_depth(value: Any) -> None:
    for depth, _ in enumerate(_levels(value), 1):
        if depth > _DEPTH_MAX:
            raise InvalidSchemaError("The schema is nested too deeply")


def _levels(value: Any) -> Iterator[list[Any]]:
    """All values that are as deep as each other, from the outside in."""
    level = [value]
    while level:
        yield level
        below: list[Any] = []
        for one in level:
            if isinstance(one, dict):
                below += one.values()
            elif isinstance(one, list):
                below += one
        level = below


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no number of JSON")


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def _double(value: float) -> str:
    if math.isinf(value):
        raise InvalidSchemaError("A number in the schema is too large")
    if value == 0 or _PLAIN_MIN <= abs(value) < _PLAIN_MAX:
        return json.dumps(value)
    digits, _, exponent = f"{value:.17e}".partition("e")
    shortest = repr(value)
    if "e" in shortest:
        digits, _, exponent = shortest.partition("e")
    else:
        bare = shortest.lstrip("-").replace(".", "").strip("0")
        digits = ("-" if value < 0 else "") + bare[0] + "." + bare[1:]
    if "." not in digits:
        digits += "."
    return f"{digits if not digits.endswith('.') else digits + '0'}E{int(exponent)}"
