"""Durations as users of Kafka's tools write them: `PnDTnHnMnS`."""

from __future__ import annotations

import re

from headrace.cli.failure import CommandFailedError

_DURATION = re.compile(
    r"([-+]?)P(?:([-+]?\d+)D)?"
    r"(T(?:([-+]?\d+)H)?(?:([-+]?\d+)M)?(?:([-+]?\d+)(?:[.,](\d{0,9}))?S)?)?",
    re.IGNORECASE,
)


def parse_duration(text: str) -> int:
    """`PnDTnHnMnS` as Java's `Duration` reads it; milliseconds."""
    match = _DURATION.fullmatch(text)
    if match is None or match[3] in ("T", "t") or not (match[2] or match[3]):
        raise CommandFailedError("Text cannot be parsed to a Duration")
    sign, days, _, hours, minutes, seconds, fraction = match.groups()
    total = ((int(days or 0) * 24 + int(hours or 0)) * 60 + int(minutes or 0)) * 60
    milliseconds = (total + int(seconds or 0)) * 1000
    part = int((fraction or "").ljust(3, "0")[:3])
    milliseconds += -part if (seconds or "").startswith("-") else part
    return -milliseconds if sign == "-" else milliseconds
