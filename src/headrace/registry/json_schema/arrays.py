"""Arrays: their items, items by position, and limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.registry.json_schema.scalars import lower_limit, upper_limit
from headrace.registry.json_schema.shapes import Shape, shape_of

if TYPE_CHECKING:
    from headrace.registry.json_schema.comparison import Comparison, Found


def compare_arrays(comparison: Comparison, original: Shape, update: Shape) -> Found:
    before, after = original.node, update.node
    found = [
        *_items(comparison, before, after),
        *_positions(comparison, before, after),
        *_others(comparison, before, after, "additionalItems"),
        *_others(comparison, before, after, "unevaluatedItems"),
        *upper_limit("maxItems", "MAX_ITEMS", before, after),
        *lower_limit("minItems", "MIN_ITEMS", before, after),
        *upper_limit("maxContains", "MAX_CONTAINS", before, after),
        *lower_limit("minContains", "MIN_CONTAINS", before, after),
    ]
    if after.get("uniqueItems") is True and before.get("uniqueItems") is not True:
        found.append(("UNIQUE_ITEMS_ADDED", ("uniqueItems",)))
    return found


def _items(comparison: Comparison, before: Any, after: Any) -> Found:
    was, now = _every_item(before), _every_item(after)
    if now is None or _by_position(after):
        return []
    if was is None:
        return [] if _by_position(before) else [("SCHEMA_ADDED", ("items",))]
    return comparison.compare(was, now, "items")


def _positions(comparison: Comparison, before: Any, after: Any) -> Found:
    earlier, later = _by_position(before), _by_position(after)
    found: Found = []
    for index in range(max(len(earlier), len(later))):
        path = ("items", str(index))
        if index >= len(later):
            found += _removed(comparison, path, earlier[index], after)
        elif index >= len(earlier):
            found += _added(comparison, path, later[index], before)
        else:
            found += comparison.compare(earlier[index], later[index], *path)
    return found


def _removed(comparison: Comparison, path: tuple[str, ...], schema: Any, after: Any) -> Found:
    rest = _rest(after)
    if rest is True:
        return []
    if rest is False:
        if shape_of(schema, comparison.original).kind == "never":
            return []
        return [("ITEM_REMOVED_FROM_CLOSED_CONTENT_MODEL", path)]
    found = comparison.compare(schema, rest, *path)
    kind = "ITEM_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL"
    return [*found, (kind, path)] if found else []


def _added(comparison: Comparison, path: tuple[str, ...], schema: Any, before: Any) -> Found:
    rest = _rest(before)
    if rest is False or shape_of(schema, comparison.update).kind == "any":
        return []
    if rest is True:
        return [("ITEM_ADDED_TO_OPEN_CONTENT_MODEL", path)]
    found = comparison.compare(rest, schema, *path)
    kind = "ITEM_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL"
    return [*found, (kind, path)] if found else []


def _others(comparison: Comparison, before: Any, after: Any, word: str) -> Found:
    was, now = _stated(before, word), _stated(after, word)
    kind = "ADDITIONAL_ITEMS" if word == "additionalItems" else "UNEVALUATED_ITEMS"
    if now is False:
        return [] if was is False else [(f"{kind}_REMOVED", (word,))]
    if was is False or now is True or now == {}:
        return []
    if was is True or was == {}:
        return [(f"{kind}_NARROWED", (word,))]
    return comparison.compare(was, now, word)


def _stated(node: Any, word: str) -> Any:
    """What holds for items past the described ones; `items` says it where `prefixItems` stand."""
    if word == "additionalItems" and isinstance(node.get("prefixItems"), list):
        return node.get("items", True)
    return node.get(word, True)


def _rest(node: Any) -> Any:
    for word in ("additionalItems", "unevaluatedItems"):
        stated = _stated(node, word)
        if stated is not True and stated != {}:
            return stated
    return True


def _every_item(node: Any) -> Any | None:
    if isinstance(node.get("prefixItems"), list):
        return None
    items = node.get("items")
    return None if isinstance(items, list) else items


def _by_position(node: Any) -> list[Any]:
    for word in ("prefixItems", "items"):
        if isinstance(node.get(word), list):
            return list(node[word])
    return []
