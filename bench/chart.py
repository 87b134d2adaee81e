"""The picture for the README: how many times better than Apache Kafka, row by row, as SVG.

The axis is logarithmic, because memory and start lie far from the rates; the line at 1 is Apache
Kafka. Colours follow the reader's light or dark scheme.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

from bench.markdown import TIMES
from bench.measurements import Comparison
from bench.rows import ROWS, Row, Table
from tests.support.tools import REPOSITORY

CHART = REPOSITORY / "docs" / "benchmarks.svg"

_WIDTH = 860
_LABELS = 330
_RIGHT = 70
_TOP = 74
_ROW_HEIGHT = 38
_BAR_HEIGHT = 13
_BOTTOM = 34
_TICKS = (0.5, 1, 2, 5, 10, 20, 50)
_TITLES = {Table.WARM: "warm", Table.FIRST_MINUTE: "first minute after a start"}

_STYLE = """
  text { font: 13px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328; }
  .title { font-size: 16px; font-weight: 600; }
  .small { font-size: 11px; fill: #59636e; }
  .value { font-size: 11px; font-weight: 600; }
  .grid { stroke: #d1d9e0; stroke-width: 1; }
  .one { stroke: #59636e; stroke-width: 1.5; }
  .warm { fill: #0969da; }
  .first-minute { fill: #bf8700; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; }
    .small { fill: #9198a1; }
    .grid { stroke: #30363d; }
    .one { stroke: #9198a1; }
    .warm { fill: #4493f8; }
    .first-minute { fill: #d29922; }
  }
"""


def draw(comparisons: Mapping[Table, Sequence[Comparison]]) -> str:
    """The chart of both tables; a row that one of them lacks has one bar."""
    advantages: dict[str, dict[Table, float]] = {}
    for table, rows in comparisons.items():
        for item in rows:
            by_table = advantages.setdefault(item.row.key, {})
            by_table[table] = item.row.advantage(item.ratio)
    rows_shown = [row for row in ROWS if row.key in advantages]
    values = [value for by_table in advantages.values() for value in by_table.values()]
    axis = _Axis(min([*values, 0.8]), max([*values, 2.0]))
    bottom = _TOP + _ROW_HEIGHT * len(rows_shown)
    parts = [*_heading(), *_grid(axis, bottom)]
    for index, row in enumerate(rows_shown):
        parts += _bars(row, advantages[row.key], axis, _TOP + _ROW_HEIGHT * index)
    height = bottom + _BOTTOM
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
        f'width="{_WIDTH}" height="{height}" role="img" aria-label="{_title()}">\n'
        f"<style>{_STYLE}</style>\n" + "\n".join(parts) + "\n</svg>\n"
    )


def write_chart(comparisons: Mapping[Table, Sequence[Comparison]], path: Path = CHART) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(draw(comparisons))


class _Axis:
    """Where a ratio lies on the logarithmic axis."""

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = low * 0.95, high * 1.05

    def x(self, value: float) -> float:
        span = math.log(self.high / self.low)
        return _LABELS + (_WIDTH - _LABELS - _RIGHT) * math.log(value / self.low) / span


def _title() -> str:
    return "Headrace against Apache Kafka: times better"


def _heading() -> list[str]:
    parts = [_text(16, 26, _title(), "title")]
    x = 16.0
    for table, title in _TITLES.items():
        parts.append(f'<rect class="{table}" x="{x}" y="40" width="12" height="12" rx="2"/>')
        parts.append(_text(x + 18, 50, title, "small"))
        x += 80
    parts.append(_text(_WIDTH - 16, 50, "longer is better; logarithmic axis", "small", "end"))
    return parts


def _grid(axis: _Axis, bottom: int) -> list[str]:
    parts = []
    for tick in _TICKS:
        if not axis.low <= tick <= axis.high:
            continue
        x = axis.x(tick)
        kind = "one" if tick == 1 else "grid"
        parts.append(f'<line class="{kind}" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{bottom}"/>')
        label = f"Apache Kafka = 1 {TIMES}" if tick == 1 else f"{tick:g} {TIMES}"
        parts.append(_text(x, bottom + 18, label, "small", "middle"))
    return parts


def _bars(row: Row, by_table: Mapping[Table, float], axis: _Axis, top: int) -> list[str]:
    parts = [_text(_LABELS - 14, top + 23, row.title, "", "end")]
    one = axis.x(1)
    y = top + (_ROW_HEIGHT - _BAR_HEIGHT * len(by_table)) / 2
    for table, value in by_table.items():
        x = axis.x(value)
        parts.append(
            f'<rect class="{table}" x="{min(x, one):.1f}" y="{y:.1f}" '
            f'width="{max(abs(x - one), 1):.1f}" height="{_BAR_HEIGHT - 2}" rx="2"/>'
        )
        digits = 0 if value >= 10 else 1 if value >= 2 else 2
        parts.append(_text(max(x, one) + 5, y + 9.5, f"{value:.{digits}f} {TIMES}", "value"))
        y += _BAR_HEIGHT
    return parts


def _text(x: float, y: float, text: str, kind: str, anchor: str = "start") -> str:
    return (
        f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
    )
