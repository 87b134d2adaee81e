"""What tools print: Kafka's lines as they are, JSON on request, a little colour on a terminal."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

_ESCAPES = re.compile("\x1b\\[[0-9]*m")
_NAME = re.compile("[A-Z][A-Za-z ]*:")
_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


def add_output_argument(parser: argparse.ArgumentParser, *, default: str = "text") -> None:
    """`-o json`, which every tool that prints data has besides Kafka's own format.

    A sub-command of a tool that takes it as well has `argparse.SUPPRESS` as its default.
    """
    parser.add_argument(
        "-o",
        "--output",
        choices=("text", "json"),
        default=default,
        help="text (Kafka's own lines, the default) or json",
    )


def wants_json(args: argparse.Namespace) -> bool:
    return getattr(args, "output", "text") == "json"


def print_json(value: Any) -> None:
    """One JSON document: indented on a terminal, one line when piped."""
    import json

    print(json.dumps(value, indent=2 if sys.stdout.isatty() else None, ensure_ascii=False))


def print_json_line(value: Any, *, flush: bool = False) -> None:
    """One of many JSON documents: a line each, for who reads them as they come."""
    import json

    print(json.dumps(value, ensure_ascii=False), flush=flush or sys.stdout.isatty())


# -------------------------------------------------------------------- on a terminal


def is_styled(stream: TextIO | None = None) -> bool:
    """Whether the stream is a terminal that wants colours."""
    out = sys.stdout if stream is None else stream
    return out.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def styled(text: str, style: str, stream: TextIO | None = None) -> str:
    """The text in a colour, if the stream is a terminal that wants one."""
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if is_styled(stream) else text


def print_with_heading(lines: Sequence[str]) -> None:
    """Kafka's lines, the first of which is the heading; that one is bold on a terminal."""
    heading, *rows = lines
    print("\n".join([styled(heading, "bold"), *rows]))


def print_fields(lines: Iterable[str], separator: str = "\t") -> None:
    """Kafka's lines of `Name: value` cells; aligned on a terminal, with the names standing back."""
    if not is_styled():
        for line in lines:
            print(line)
        return
    rows = [[cell.rstrip(" ") for cell in re.split(separator, line)] for line in lines]
    widths: dict[int, int] = {}
    for row in rows:
        for column, cell in enumerate(row):
            widths[column] = max(widths.get(column, 0), _width(cell))
    for row in rows:
        padding = [" " * (widths[column] - _width(cell)) for column, cell in enumerate(row)]
        cells = [_dim_name(cell) + blanks for cell, blanks in zip(row, padding, strict=True)]
        print("  ".join(cells).rstrip(" "))


def _dim_name(cell: str) -> str:
    """A cell that is coloured already does not begin with its name, and stays as it is."""
    name = _NAME.match(cell)
    return cell if name is None else styled(name[0], "dim") + cell[name.end() :]


def _width(cell: str) -> int:
    return len(_ESCAPES.sub("", cell))


# -------------------------------------------------------------------- tables


def pad_columns(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Kafka's own table: every cell padded to its column's width and followed by a tab."""
    table = [list(header), *(list(row) for row in rows)]
    widths = [max(len(row[index]) for row in table) for index in range(len(header))]
    return [
        "".join(cell.ljust(width) + "\t" for cell, width in zip(row, widths, strict=True))
        for row in table
    ]
