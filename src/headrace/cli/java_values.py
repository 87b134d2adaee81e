"""Numbers as Java prints them, for tools whose output scripts compare."""

from __future__ import annotations

import math
from decimal import Decimal


def java_number(value: float, *, single: bool = False) -> str:
    """`Long.toString`, `Double.toString` or, with `single`, `Float.toString`."""
    if isinstance(value, int):
        return str(value)
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    if value == 0:
        return f"{sign}0.0"
    digits = _shortest(abs(value), single=single)
    _, numerals, exponent = Decimal(digits).as_tuple()
    text = "".join(map(str, numerals)).rstrip("0") or "0"
    point = len(numerals) + int(exponent)
    if -2 <= point <= 7:
        return sign + _plain(text, point)
    return f"{sign}{text[0]}.{text[1:] or '0'}E{point - 1}"


def _plain(text: str, point: int) -> str:
    if point <= 0:
        return f"0.{'0' * -point}{text}"
    whole = text[:point].ljust(point, "0")
    return f"{whole}.{text[point:] or '0'}"


def _shortest(value: float, *, single: bool) -> str:
    """The fewest digits that read back as the same number."""
    if not single:
        return repr(value)
    from struct import pack, unpack

    for precision in range(1, 10):
        text = f"{value:.{precision}g}"
        if unpack(">f", pack(">f", float(text)))[0] == value:
            return text
    return repr(value)
