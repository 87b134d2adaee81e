"""What the demo shows: a picture that stays in place on a terminal, lines anywhere else."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from examples.orders.demo.ledger import Ledger

_LINE_SECONDS = 5.0
_BAR = 24
_MINUTES_SHOWN = 3


@dataclass
class Moment:
    """How things stand."""

    elapsed_s: float
    posted: int
    mails: int
    searchable: int
    ledger: Ledger
    #: By name, as the runner writes them.
    pipelines: Mapping[str, Mapping[str, Any]]


class Screen:
    """Draws moments."""

    def __init__(self) -> None:
        self.is_live = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
        self._colour = self.is_live and not os.environ.get("NO_COLOR")
        self._drawn = 0
        self._shown_at = 0.0
        #: Time and count of the last seconds, for the rate.
        self._past: deque[tuple[float, int]] = deque(maxlen=12)

    def say(self, text: str) -> None:
        """A line that stays."""
        print(text, flush=True)
        self._drawn = 0

    def show(self, moment: Moment, *, now: bool = False) -> None:
        if not now and not self.is_live and time.monotonic() - self._shown_at < _LINE_SECONDS:
            return
        self._shown_at = time.monotonic()
        self._past.append((moment.elapsed_s, moment.posted))
        if self.is_live:
            self._draw(self._picture(moment))
        else:
            print(self._line(moment), flush=True)

    def _rate(self) -> float:
        (begun, first), (ended, last) = self._past[0], self._past[-1]
        return (last - first) / (ended - begun) if ended > begun else 0.0

    def _line(self, moment: Moment) -> str:
        states, revenue = moment.ledger.states, moment.ledger.revenue_cents()
        lags = ", ".join(f"{name} {_number(it['lag'])}" for name, it in moment.pipelines.items())
        return (
            f"{moment.elapsed_s:4.0f} s  {moment.posted:,} orders ({self._rate():.0f}/s):"
            f" {states['CREATED']} created, {states['VALIDATED']} validated,"
            f" {states['FAILED']} failed; {moment.mails} mails; revenue {_money(revenue)};"
            f" lag {lags}"
        )

    def _picture(self, moment: Moment) -> list[str]:
        ledger, states = moment.ledger, moment.ledger.states
        posted = f"{moment.posted:>7,} posted {self._rate():>9.1f}/s {moment.elapsed_s:>12.0f} s"
        further = (
            f"  mails       {moment.mails:>7,}      in search {moment.searchable:>7,}"
            f"      late {len(ledger.late):>5,}"
        )
        head = f"  {'pipeline':<11} {'state':<9} {'rows/s':>8} {'lag':>7} {'batch':>9}"
        top = ", ".join(f"{product} {_money(cents)}" for product, cents in ledger.top_products())
        return [
            "",
            f"  {self._style('1', 'orders')}      {posted}",
            "",
            *(
                f"  {self._style(colour, f'{state:<9}')}   {states[state]:>7,}  "
                + self._style(colour, _bar(states[state], moment.posted))
                for state, colour in (("CREATED", "36"), ("VALIDATED", "32"), ("FAILED", "31"))
            ),
            "",
            further,
            "",
            self._style("1", head),
            *(_pipeline_line(name, status) for name, status in moment.pipelines.items()),
            "",
            *self._revenue_lines(ledger),
            f"  top         {top}",
        ]

    def _revenue_lines(self, ledger: Ledger) -> list[str]:
        minutes = sorted(dict(ledger.sales).items())[-_MINUTES_SHOWN:]
        largest = max((row["revenue_cents"] for _, row in minutes), default=1)
        lines = [
            f"  {minute:%H:%M}       {_money(row['revenue_cents']):>11}  "
            + self._style("33", _bar(row["revenue_cents"], largest))
            for minute, row in minutes
        ]
        head = self._style("1", "  revenue per minute")
        return [head, *lines, *[""] * (_MINUTES_SHOWN - len(lines))]

    def _style(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self._colour else text

    def _draw(self, lines: Sequence[str]) -> None:
        lines = lines[: shutil.get_terminal_size().lines - 1]
        up = f"\x1b[{self._drawn}F\x1b[J" if self._drawn else ""
        sys.stdout.write(up + "".join(f"{line}\n" for line in lines))
        sys.stdout.flush()
        self._drawn = len(lines)


def _pipeline_line(name: str, status: Mapping[str, Any]) -> str:
    batch = status["batchMs"]
    return (
        f"  {name:<11} {status['state']:<9} {status['rowsPerSecond']:>8.1f}"
        f" {_number(status['lag']):>7} {'-' if batch is None else f'{batch:,} ms':>9}"
    )


def _number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _money(cents: int) -> str:
    return f"{cents / 100:,.2f}"


def _bar(part: int, whole: int) -> str:
    return "━" * round(_BAR * part / max(whole, 1))
