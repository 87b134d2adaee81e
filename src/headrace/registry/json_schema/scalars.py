"""Strings, numbers, enumerations: limits that became narrower."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from headrace.registry.core.compact_json import dump, ordered
from headrace.registry.json_schema.shapes import Shape

if TYPE_CHECKING:
    from headrace.registry.json_schema.comparison import Comparison, Found


def compare_strings(comparison: Comparison, original: Shape, update: Shape) -> Found:
    found = [
        *upper_limit("maxLength", "MAX_LENGTH", original.node, update.node),
        *lower_limit("minLength", "MIN_LENGTH", original.node, update.node),
    ]
    before, after = original.node.get("pattern"), update.node.get("pattern")
    if after is not None and before != after:
        kind = "PATTERN_ADDED" if before is None else "PATTERN_CHANGED"
        found.append((kind, ("pattern",)))
    return found


def compare_numbers(comparison: Comparison, original: Shape, update: Shape) -> Found:
    before, after = original.node, update.node
    found = [
        *upper_limit("maximum", "MAXIMUM", before, after),
        *lower_limit("minimum", "MINIMUM", before, after),
        *upper_limit("exclusiveMaximum", "EXCLUSIVE_MAXIMUM", before, after),
        *lower_limit("exclusiveMinimum", "EXCLUSIVE_MINIMUM", before, after),
        *_multiples(before, after),
    ]
    if after.get("type") == "integer" and before.get("type") != "integer":
        found.append(("TYPE_NARROWED", ()))
    return found


def compare_enums(comparison: Comparison, original: Shape, update: Shape) -> Found:
    before, after = _values(original.node), _values(update.node)
    if before <= after:
        return []
    place = "const" if "const" in update.node else "enum"
    return [("ENUM_ARRAY_NARROWED" if after <= before else "ENUM_ARRAY_CHANGED", (place,))]


def upper_limit(word: str, kind: str, original: Any, update: Any) -> Found:
    before, after = number(original.get(word)), number(update.get(word))
    if after is None or before == after:
        return []
    if before is None:
        return [(f"{kind}_ADDED", (word,))]
    return [(f"{kind}_DECREASED", (word,))] if after < before else []


def lower_limit(word: str, kind: str, original: Any, update: Any) -> Found:
    before, after = number(original.get(word)), number(update.get(word))
    if after is None or before == after:
        return []
    if before is None:
        return [(f"{kind}_ADDED", (word,))]
    return [(f"{kind}_INCREASED", (word,))] if after > before else []


def number(value: Any) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return Decimal(str(value))


def _multiples(original: Any, update: Any) -> Found:
    before, after = number(original.get("multipleOf")), number(update.get("multipleOf"))
    if after is None or before == after:
        return []
    if before is None:
        return [("MULTIPLE_OF_ADDED", ("multipleOf",))]
    if after and not before % after:
        return []
    kind = "MULTIPLE_OF_EXPANDED" if before and not after % before else "MULTIPLE_OF_CHANGED"
    return [(kind, ("multipleOf",))]


def _values(node: Any) -> set[str]:
    values = node["enum"] if isinstance(node.get("enum"), list) else [node.get("const")]
    return {dump(ordered(value)) for value in values}
