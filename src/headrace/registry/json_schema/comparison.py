"""Comparing two JSON Schemas: can a reader of one take every document of the other?

Only what breaks is reported. A pair of nodes is compared once, however often it is reached, so
that schemas which refer to themselves end, and those that refer to one another much stay cheap.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.registry.core.difference import Difference
from headrace.registry.json_schema.documents import Documents
from headrace.registry.json_schema.messages import describe
from headrace.registry.json_schema.shapes import Shape, shape_of

#: A kind of difference and where it is, from the compared pair on.
Found = list[tuple[str, tuple[str, ...]]]
Compare = Callable[["Comparison", Shape, Shape], Found]

#: What the policy LENIENT lets pass besides.
_LENIENT = frozenset(
    (
        "ADDITIONAL_PROPERTIES_NARROWED",
        "ADDITIONAL_PROPERTIES_REMOVED",
        "UNEVALUATED_PROPERTIES_NARROWED",
        "UNEVALUATED_PROPERTIES_REMOVED",
        "REQUIRED_PROPERTY_WITH_DEFAULT_ADDED_TO_OPEN_CONTENT_MODEL",
        "OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL",
        "PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL",
        "PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
        "PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
    )
)
_COMPARISONS_MAX = 100_000


class Comparison:
    """From the writer's documents (the original) to the reader's (the update)."""

    def __init__(self, original: Documents, update: Documents, *, lenient: bool = False) -> None:
        self.original = original
        self.update = update
        self._lenient = lenient
        self._done: dict[tuple[int, int, bool], Found] = {}
        #: Nodes made while comparing stay alive, so that their identity is theirs alone.
        self._kept: list[Any] = []
        self._reversed = False
        self._count = 0

    def differences(self) -> list[Difference]:
        found = self.compare(self.original.root, self.update.root)
        unique = dict.fromkeys(found)
        return [describe(kind, "#/" + "/".join(path)) for kind, path in unique]

    def compare(self, original: Any, update: Any, *path: str) -> Found:
        """What breaks between two nodes, its paths below `path`."""
        first, second = self.original.follow(original), self.update.follow(update)
        key = (id(first), id(second), self._reversed)
        found = self._done.get(key)
        if found is None:
            self._count += 1
            self._kept += (first, second)
            # A pair met again within itself breaks nothing by itself.
            self._done[key] = []
            if self._count > _COMPARISONS_MAX:
                found = [("TYPE_CHANGED", ())]
            else:
                found = self._allowed(self._compare(first, second))
            self._done[key] = found
        return [(kind, path + below) for kind, below in found]

    def compare_reversed(self, original: Any, update: Any) -> Found:
        """Whether every document of the update is one of the original's."""
        self.original, self.update = self.update, self.original
        self._reversed = not self._reversed
        try:
            return self.compare(update, original)
        finally:
            self.original, self.update = self.update, self.original
            self._reversed = not self._reversed

    def _allowed(self, found: Found) -> Found:
        if not self._lenient:
            return found
        return [(kind, path) for kind, path in found if kind not in _LENIENT]

    def _compare(self, original: Any, update: Any) -> Found:
        first, second = shape_of(original, self.original), shape_of(update, self.update)
        if second.kind == "combined" and first.kind != "combined":
            if self._fits_one(first.node, second):
                return []
        elif (
            first.kind == "combined" and second.kind != "combined" and self._one_fits(first, second)
        ):
            return []
        if first.kind != second.kind:
            if first.kind == "never" or second.kind == "any":
                return []
            if first.node == second.node:
                return []
            return [("TYPE_CHANGED", ())]
        return _BY_KIND[first.kind](self, first, second)

    def _fits_one(self, original: Any, update: Shape) -> bool:
        if len(update.parts) == 1 or update.criterion in ("anyOf", "oneOf"):
            return any(not self.compare(original, part) for part in update.parts)
        return False

    def _one_fits(self, original: Shape, update: Shape) -> bool:
        if len(original.parts) == 1 or original.criterion == "allOf":
            return any(not self.compare(part, update.node) for part in original.parts)
        return all(not self.compare(part, update.node) for part in original.parts)


def _same(comparison: Comparison, original: Shape, update: Shape) -> Found:
    return []


def _by_kind() -> dict[str, Compare]:
    from headrace.registry.json_schema.arrays import compare_arrays
    from headrace.registry.json_schema.combined import compare_combined, compare_negations
    from headrace.registry.json_schema.objects import compare_objects
    from headrace.registry.json_schema.scalars import (
        compare_enums,
        compare_numbers,
        compare_strings,
    )

    return {
        "any": _same,
        "never": _same,
        "boolean": _same,
        "null": _same,
        "string": compare_strings,
        "number": compare_numbers,
        "enum": compare_enums,
        "object": compare_objects,
        "array": compare_arrays,
        "combined": compare_combined,
        "not": compare_negations,
    }


_BY_KIND = _by_kind()
