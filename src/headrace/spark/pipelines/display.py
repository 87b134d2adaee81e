"""What a run shows: a table that stays in place on a terminal, plain lines anywhere else."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from headrace.spark.pipelines.table import duration, number, table

_DRAW_SECONDS = 0.5
_LINE_SECONDS = 5.0
_COLOURS = {
    "running": "32",
    "finished": "32",
    "retrying": "33",
    "starting": "36",
    "stopping": "36",
    "failed": "31",
}


class Display:
    """Draws from one thread; sentences may come from any."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stdout if stream is None else stream
        self._is_live = self._stream.isatty() and os.environ.get("TERM") != "dumb"
        self._colour = self._is_live and not os.environ.get("NO_COLOR")
        self._lock = threading.Lock()
        self._drawn = 0
        self._shown_at = 0.0
        self._last: dict[str, object] = {}

    def say(self, sentence: str) -> None:
        """A line that stays, above the table."""
        with self._lock:
            self._erase()
            self._write(f"{sentence}\n")

    def tell(self, name: str, sentence: str) -> None:
        """A line about a pipeline."""
        self.say(f"{self._moment()}{name}: {sentence}")

    def update(self, statuses: Sequence[Mapping[str, Any]]) -> None:
        """Show how things stand, unless that was just done."""
        period = _DRAW_SECONDS if self._is_live else _LINE_SECONDS
        if time.monotonic() - self._shown_at >= period:
            self._show(statuses)

    def finish(self, statuses: Sequence[Mapping[str, Any]]) -> None:
        """The last state of things, which stays."""
        with self._lock:
            self._erase()
            if self._is_live:
                self._write("\n".join(self._lines(statuses)) + "\n")

    # ---------------------------------------------------------------- drawing

    def _show(self, statuses: Sequence[Mapping[str, Any]]) -> None:
        self._shown_at = time.monotonic()
        if not self._is_live:
            for status in statuses:
                self._line(status)
            return
        with self._lock:
            self._erase()
            lines = self._lines(statuses)
            self._write("\n".join(lines) + "\n")
            self._drawn = len(lines)

    def _lines(self, statuses: Sequence[Mapping[str, Any]]) -> list[str]:
        width = shutil.get_terminal_size().columns
        lines = [line[: max(width - 1, 20)] for line in table(statuses)]
        if not self._colour:
            return lines
        coloured = [f"\x1b[1m{lines[0]}\x1b[0m"]
        for line, status in zip(lines[1:], statuses, strict=True):
            state = str(status["state"])
            code = _COLOURS.get(state, "0")
            at = line.find(f"  {state}", len(str(status["name"])))
            end = at + 2 + len(state)
            coloured.append(
                f"{line[: at + 2]}\x1b[{code}m{state}\x1b[0m{line[end:]}" if at >= 0 else line
            )
        return coloured

    def _line(self, status: Mapping[str, Any]) -> None:
        """Only if something has happened since the last one."""
        name, state = str(status["name"]), status["state"]
        seen = (state, status["batchId"], status["lag"])
        if self._last.get(name) == seen:
            return
        self._last[name] = seen
        batch = status["batchId"]
        self.tell(
            name,
            f"{state}, batch {'-' if batch is None else batch}, {number(status['rowsIn'])} rows,"
            f" {number(status['rowsPerSecond'])} rows/s, lag {number(status['lag'])},"
            f" batch time {duration(status['batchMs'])}",
        )

    def _erase(self) -> None:
        if self._drawn:
            self._write(f"\x1b[{self._drawn}F\x1b[J")
            self._drawn = 0

    def _moment(self) -> str:
        return "" if self._is_live else time.strftime("%H:%M:%S ")

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()
