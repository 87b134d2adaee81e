"""Pipelines as a table for people: while they run, and in `headrace pipelines status`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_HEADER = ("PIPELINE", "STATE", "ROWS/S", "ROWS IN", "LAG", "BATCH", "BATCHES", "STATE ROWS")
#: Names and states to the left, numbers to the right.
_LEFT = 2


def status_row(status: Mapping[str, Any]) -> tuple[str, ...]:
    """A line of the table from the JSON of a status."""
    is_live = status.get("state") in ("running", "stopping", "retrying", "starting")
    return (
        str(status.get("name", "")),
        str(status.get("state", "")),
        number(status.get("rowsPerSecond")) if is_live else "-",
        number(status.get("rowsIn")),
        number(status.get("lag")),
        duration(status.get("batchMs")),
        number(status.get("batches")),
        number(status.get("stateRows")),
    )


def table(statuses: Iterable[Mapping[str, Any]]) -> list[str]:
    return aligned(_HEADER, [status_row(status) for status in statuses], _LEFT)


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]], left: int) -> list[str]:
    """Columns under their heads; the first `left` of them begin together, the others end so."""
    lines = [header, *rows]
    widths = [max(len(row[index]) for row in lines) for index in range(len(header))]
    return [
        "  ".join(
            cell.ljust(width) if index < left else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in lines
    ]


def number(value: object) -> str:
    if not isinstance(value, int | float):
        return "-"
    return f"{round(value):,}"


def duration(value: object) -> str:
    if not isinstance(value, int | float):
        return "-"
    return f"{round(value)} ms" if value < 10_000 else f"{value / 1000:.1f} s"


def size(value: object) -> str:
    if not isinstance(value, int | float):
        return "-"
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if value >= scale:
            return f"{value / scale:.1f} {unit}"
    return f"{round(value)} B"
