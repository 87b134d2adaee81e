"""What a run shows on a terminal, and in a file."""

import io
from typing import Any

import pytest

from headrace.spark.pipelines.display import Display
from headrace.spark.pipelines.table import aligned, duration, number, size


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def status(name: str = "orders", **changes: Any) -> dict[str, Any]:
    return {
        "name": name,
        "state": "running",
        "batchId": 4,
        "rowsIn": 12_345,
        "rowsPerSecond": 1_000.4,
        "lag": 7,
        "batchMs": 120,
        "batches": 5,
        "stateRows": None,
        **changes,
    }


def test_a_terminal_shows_a_table_that_replaces_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    display = Display(stream)
    display.update([status()])
    first = stream.getvalue()
    assert "orders" in first
    assert "12,345" in first
    display.tell("orders", "was moved")
    assert stream.getvalue() == f"{first}\x1b[2F\x1b[Jorders: was moved\n"


def test_a_file_gets_lines_and_only_when_something_happened() -> None:
    stream = io.StringIO()
    display = Display(stream)
    display._show([status()])
    display._show([status()])
    display._show([status(batchId=5)])
    lines = stream.getvalue().splitlines()
    assert len(lines) == 2
    assert lines[0].endswith(
        "orders: running, batch 4, 12,345 rows, 1,000 rows/s, lag 7, batch time 120 ms"
    )


def test_numbers_for_people() -> None:
    assert [number(None), number(1234567), number(0)] == ["-", "1,234,567", "0"]
    assert [duration(9), duration(12_345), duration(None)] == ["9 ms", "12.3 s", "-"]
    assert [size(10), size(1_500), size(2_000_000), size(3e9)] == [
        "10 B",
        "1.5 kB",
        "2.0 MB",
        "3.0 GB",
    ]


def test_columns_stand_under_their_heads() -> None:
    assert aligned(("A", "N"), [("long name", "1"), ("b", "100")], 1) == [
        "A            N",
        "long name    1",
        "b          100",
    ]
