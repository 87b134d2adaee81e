"""Prometheus' text format: families of samples, each with its type and one line of help.

https://prometheus.io/docs/instrumenting/exposition_formats/, version 0.0.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

COUNTER = "counter"
GAUGE = "gauge"
HISTOGRAM = "histogram"

Labels = Mapping[str, str]
#: Suffix of the family's name, labels, value.
Sample = tuple[str, Labels, float]

_NO_LABELS: Labels = {}
_ESCAPED = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
_ESCAPED_HELP = str.maketrans({"\\": r"\\", "\n": r"\n"})
#: Lines in one piece of a page: a page of 10,000 partitions must not hold up the loop.
_LINES_PER_PIECE = 1000


@dataclass(slots=True)
class Family:
    """Samples of one name."""

    name: str
    kind: str
    help: str
    samples: Iterable[Sample] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        """Nothing at all where there is no sample."""
        is_first = True
        for suffix, labels, value in self.samples:
            if is_first:
                yield f"# HELP {self.name} {self.help.translate(_ESCAPED_HELP)}\n"
                yield f"# TYPE {self.name} {self.kind}\n"
                is_first = False
            yield f"{self.name}{suffix}{format_labels(labels)} {format_value(value)}\n"


def single(name: str, kind: str, text: str, value: float) -> Family:
    """A family with one sample and no labels."""
    return Family(name, kind, text, [("", _NO_LABELS, value)])


def render(families: Iterable[Family]) -> Iterator[str]:
    """A page in pieces of bounded size."""
    piece: list[str] = []
    for family in families:
        for line in family.lines():
            piece.append(line)
            if len(piece) >= _LINES_PER_PIECE:
                yield "".join(piece)
                piece.clear()
    if piece:
        yield "".join(piece)


def format_labels(labels: Labels) -> str:
    if not labels:
        return ""
    pairs = ",".join(f'{name}="{value.translate(_ESCAPED)}"' for name, value in labels.items())
    return f"{{{pairs}}}"


def format_value(value: float) -> str:
    """Whole numbers without a fraction, however they were counted."""
    if isinstance(value, int):
        return str(value)
    if value == float("inf"):
        return "+Inf"
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
