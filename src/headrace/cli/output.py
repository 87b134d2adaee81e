"""What tools print: Kafka's lines as they are, JSON on request, a little colour on a terminal."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


def add_output_argument(parser: argparse.ArgumentParser) -> None:
    """`-o json`, which every tool that prints data has besides Kafka's own format."""
    parser.add_argument(
        "-o",
        "--output",
        choices=("text", "json"),
        default="text",
        help="text (Kafka's own lines, the default) or json",
    )


def wants_json(args: argparse.Namespace) -> bool:
    return getattr(args, "output", "text") == "json"


def print_json(value: Any) -> None:
    """One JSON document: indented on a terminal, one line when piped."""
    import json

    print(json.dumps(value, indent=2 if sys.stdout.isatty() else None, ensure_ascii=False))


def styled(text: str, style: str, stream: TextIO | None = None) -> str:
    """The text in a colour, if the stream is a terminal that wants one (NO_COLOR)."""
    out = sys.stdout if stream is None else stream
    if not out.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m"


def pad_columns(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Kafka's own table: every cell padded to its column's width and followed by a tab."""
    table = [list(header), *(list(row) for row in rows)]
    widths = [max(len(row[index]) for row in table) for index in range(len(header))]
    return [
        "".join(cell.ljust(width) + "\t" for cell, width in zip(row, widths, strict=True))
        for row in table
    ]
