"""Durations as Spark's options write them: `15m`, `100ms`, `2 hours`."""

from __future__ import annotations

import re

from headrace.spark.errors import OptionError

_FORM = re.compile(r"\s*(\d+)\s*([a-z]*)\s*")
_UNITS_MS = {
    "ms": 1,
    "millisecond": 1,
    "s": 1_000,
    "sec": 1_000,
    "second": 1_000,
    "m": 60_000,
    "min": 60_000,
    "minute": 60_000,
    "h": 3_600_000,
    "hour": 3_600_000,
    "d": 86_400_000,
    "day": 86_400_000,
}


def parse_duration_ms(name: str, text: str) -> int:
    """Milliseconds of a duration; a bare number is in milliseconds."""
    found = _FORM.fullmatch(text.lower())
    unit = found[2] if found else ""
    factor = _UNITS_MS.get(unit or "ms") or _UNITS_MS.get(unit.removesuffix("s"))
    if found is None or factor is None:
        raise OptionError(f"{name} is a duration such as 500ms, 10s or 15m, not {text!r}.")
    return int(found[1]) * factor
