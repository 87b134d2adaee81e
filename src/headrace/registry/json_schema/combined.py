"""`allOf`, `anyOf`, `oneOf` and `not`: parts are matched with parts, as many as can be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.registry.core.compact_json import dump, ordered
from headrace.registry.json_schema.shapes import Shape

if TYPE_CHECKING:
    from headrace.registry.json_schema.comparison import Comparison, Found


def compare_combined(comparison: Comparison, original: Shape, update: Shape) -> Found:
    if not _criteria_fit(original, update):
        return [("COMBINED_TYPE_CHANGED", ())]
    before, after = _distinct(original), _distinct(update)
    found: Found = []
    if len(before) < len(after) and update.criterion == "allOf":
        found.append(("PRODUCT_TYPE_EXTENDED", ()))
    elif len(before) > len(after) and original.criterion != "allOf":
        found.append(("SUM_TYPE_NARROWED", ()))
    fitting = [
        [j for j, later in enumerate(after) if not comparison.compare(earlier, later)]
        for earlier in before
    ]
    if _matched(fitting) < min(len(before), len(after)):
        found.append(("COMBINED_TYPE_SUBSCHEMAS_CHANGED", ()))
    return found


def compare_negations(comparison: Comparison, original: Shape, update: Shape) -> Found:
    """What may not be grows narrower when what is excluded grows wider."""
    if comparison.compare_reversed(original.node["not"], update.node["not"]):
        return [("NOT_TYPE_EXTENDED", ("not",))]
    return []


def _criteria_fit(original: Shape, update: Shape) -> bool:
    if original.criterion == update.criterion or update.criterion == "anyOf":
        return True
    one_before, one_after = len(original.parts) == 1, len(update.parts) == 1
    return (
        (one_before and one_after)
        or (one_before and update.criterion == "oneOf")
        or (one_after and original.criterion == "allOf")
    )


def _distinct(shape: Shape) -> list[object]:
    return list({dump(ordered(part)): part for part in shape.parts}.values())


def _matched(fitting: list[list[int]]) -> int:
    """The size of the largest matching, each part on either side used once."""
    owner: dict[int, int] = {}

    def place(i: int, tried: set[int]) -> bool:
        for j in fitting[i]:
            if j in tried:
                continue
            tried.add(j)
            if j not in owner or place(owner[j], tried):
                owner[j] = i
                return True
        return False

    return sum(place(i, set()) for i in range(len(fitting)))
