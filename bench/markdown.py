"""Tables as Markdown, and their place between two markers in a document."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from bench.measurements import Comparison, Summary
from tests.support.tools import REPOSITORY

TIMES = "\N{MULTIPLICATION SIGN}"

DOCUMENT = REPOSITORY / "docs" / "BENCHMARKS.md"

COMPARISON_COLUMNS = ("work", "Headrace", "Apache Kafka", "ratio", "at least")


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose first column is text and whose others are figures."""
    lines = [_line(columns), _line(["---", *("---:" for _ in columns[1:])])]
    return "\n".join([*lines, *(_line(row) for row in rows)]) + "\n"


def comparison_table(comparisons: Sequence[Comparison]) -> str:
    """The rows of one of the two tables: medians with their spread, ratio and floor."""
    return markdown_table(COMPARISON_COLUMNS, (comparison_row(item) for item in comparisons))


def environment_line(environment: Mapping[str, str]) -> str:
    """One sentence on where the figures come from."""
    parts = (f"{name} {value}" for name, value in environment.items() if name != "date")
    return f"Measured on {environment['date']}: {'; '.join(parts)}.\n"


def replace_between_markers(text: str, marker: str, content: str) -> str:
    """The text with what lies between the two markers of that name replaced."""
    opening, closing = f"<!-- {marker} -->", f"<!-- /{marker} -->"
    before, found_opening, rest = text.partition(opening)
    _, found_closing, after = rest.partition(closing)
    if not found_opening or not found_closing:
        raise ValueError(f"the document has no markers {opening} and {closing}")
    return f"{before}{opening}\n\n{content.strip()}\n\n{closing}{after}"


def write_between_markers(marker: str, content: str, document: Path = DOCUMENT) -> None:
    """Replace a generated part of a document."""
    document.write_text(replace_between_markers(document.read_text(), marker, content))


def format_ratio(ratio: float) -> str:
    """Two digits where a ratio is near 1, more where it is small, fewer where it is large."""
    if ratio < 0.2:
        return f"{ratio:.3f} {TIMES}"
    return f"{ratio:.2f} {TIMES}" if ratio < 10 else f"{ratio:.0f} {TIMES}"


def comparison_row(comparison: Comparison) -> tuple[str, ...]:
    """One row: median and spread of both sides, the ratio, and what it has to reach."""
    row = comparison.row
    floor = row.floor(comparison.table)
    if floor is None:
        floor_text = ""
    else:
        floor_text = f"{'' if row.more_is_better else '≤ '}{format_ratio(floor)}"
    ratio = format_ratio(comparison.ratio)
    return (
        f"{row.title} ({row.unit})",
        _format_summary(comparison.headrace, row.digits),
        _format_summary(comparison.apache, row.digits),
        f"**{ratio}**" if comparison.holds else f"{ratio} (short)",
        floor_text,
    )


def _format_summary(summary: Summary, digits: int) -> str:
    median, low, high = (
        f"{value:,.{digits}f}" for value in (summary.median, summary.low, summary.high)
    )
    return f"{median} ({low} .. {high})"


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
