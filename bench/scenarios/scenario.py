"""What the scenarios have in common: a table for the document, and the figures behind it."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.rows import Side

#: Names of the sides as columns show them.
SIDE_NAMES = {Side.HEADRACE: "Headrace", Side.APACHE: "Apache Kafka"}


@dataclass(frozen=True, slots=True)
class Outcome:
    """One table, with every single figure for the results file."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    raw: Any


def say(text: str) -> None:
    """Progress on the terminal."""
    print(text, flush=True)


def medians(rounds: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """The median of each figure over several rounds."""
    listed = list(rounds)
    return {name: statistics.median(item[name] for item in listed) for name in listed[0]}
