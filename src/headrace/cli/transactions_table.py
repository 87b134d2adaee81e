"""What `headrace transactions` prints: Kafka's tables, or the same as JSON."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TypeAlias

from headrace.cli.output import pad_columns, print_json, print_with_heading, wants_json
from headrace.client.leaders import TopicPartition

#: What a column holds: text, a number, partitions, or None where there is nothing.
Cell: TypeAlias = str | int | list[TopicPartition] | None
#: Names in JSON that are not those of their columns with a small letter first.
_KEYS = {"Duration(min)": "durationMinutes"}


def print_table(
    args: argparse.Namespace, key: str, columns: tuple[str, ...], rows: Sequence[Sequence[Cell]]
) -> None:
    """Kafka's table, or a document whose names are those of the columns."""
    if wants_json(args):
        names = [_KEYS.get(column, column[0].lower() + column[1:]) for column in columns]
        documents = [dict(zip(names, map(_as_json, row), strict=True)) for row in rows]
        print_json({key: documents})
    else:
        print_with_heading(pad_columns(columns, [[*map(_as_text, row)] for row in rows]))


def _as_text(cell: Cell) -> str:
    if isinstance(cell, list):
        return ",".join(f"{topic}-{index}" for topic, index in cell)
    return str(cell)


def _as_json(cell: Cell) -> object:
    if isinstance(cell, list):
        return [{"topic": topic, "partition": index} for topic, index in cell]
    return cell
