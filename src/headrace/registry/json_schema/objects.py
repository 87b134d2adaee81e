"""Objects: properties that came, went or changed, and how open the object is to others.

An object that allows any other property may have held anything under a name before the name was
described; so a property can be added freely only to a closed object, and taken away freely only
from an open one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.base.errors import KafkaError
from headrace.base.linear_regex import compile_regex
from headrace.registry.json_schema.scalars import lower_limit, upper_limit
from headrace.registry.json_schema.shapes import Shape, shape_of

if TYPE_CHECKING:
    from headrace.registry.json_schema.comparison import Comparison, Found


def compare_objects(comparison: Comparison, original: Shape, update: Shape) -> Found:
    before, after = original.node, update.node
    return [
        *_required(comparison, before, after),
        *_properties(comparison, before, after),
        *_dependencies(comparison, before, after),
        *_additional(comparison, before, after),
        *_unevaluated(comparison, before, after),
        *upper_limit("maxProperties", "MAX_PROPERTIES", before, after),
        *lower_limit("minProperties", "MIN_PROPERTIES", before, after),
    ]


def _required(comparison: Comparison, before: Any, after: Any) -> Found:
    was, now = _names(before), _names(after)
    later = _schemas(after, "properties")
    return [
        ("REQUIRED_ATTRIBUTE_ADDED", ("required", name))
        for name in _schemas(before, "properties")
        if name in later
        and name in now
        and name not in was
        and not _has_default(comparison, later[name])
    ]


def _properties(comparison: Comparison, before: Any, after: Any) -> Found:
    earlier, later = _schemas(before, "properties"), _schemas(after, "properties")
    found: Found = []
    for name in dict.fromkeys((*earlier, *later)):
        path = ("properties", name)
        if name not in later:
            found += _removed(comparison, path, earlier[name], after)
        elif name not in earlier:
            found += _added(comparison, path, before, after)
        else:
            found += comparison.compare(earlier[name], later[name], *path)
    return found


def _removed(comparison: Comparison, path: tuple[str, ...], schema: Any, after: Any) -> Found:
    if _is_open(after):
        return []
    rest = _schema_for_others(after, path[-1])
    if rest is None:
        if shape_of(schema, comparison.original).kind == "never":
            return []
        return [("PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL", path)]
    found = comparison.compare(schema, rest, *path)
    if not found:
        return []
    return [*found, ("PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL", path)]


def _added(comparison: Comparison, path: tuple[str, ...], before: Any, after: Any) -> Found:
    name = path[-1]
    schema = after["properties"][name]
    is_required = name in _names(after)
    has_default = _has_default(comparison, schema)
    if _is_open(before):
        if shape_of(schema, comparison.update).kind == "any":
            return []
        if not is_required:
            return [("OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL", path)]
        if has_default:
            return [("REQUIRED_PROPERTY_WITH_DEFAULT_ADDED_TO_OPEN_CONTENT_MODEL", path)]
        return [("REQUIRED_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL", path)]
    found: Found = []
    rest = _schema_for_others(before, name)
    if rest is not None:
        found = comparison.compare(rest, schema, *path)
        if found:
            found = [*found, ("PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL", path)]
    if is_required and not has_default:
        found = [*found, ("REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL", path)]
    return found


def _dependencies(comparison: Comparison, before: Any, after: Any) -> Found:
    found: Found = []
    lists_before, schemas_before = _split_dependencies(before)
    lists_after, schemas_after = _split_dependencies(after)
    for name, names in lists_after.items():
        path = ("dependencies", name)
        was = lists_before.get(name)
        if was is None:
            found.append(("DEPENDENCY_ARRAY_ADDED", path))
        elif not names <= was:
            extended = was <= names
            kind = "DEPENDENCY_ARRAY_EXTENDED" if extended else "DEPENDENCY_ARRAY_CHANGED"
            found.append((kind, path))
    for name, schema in schemas_after.items():
        path = ("dependencies", name)
        if name not in schemas_before:
            found.append(("DEPENDENCY_SCHEMA_ADDED", path))
        else:
            found += comparison.compare(schemas_before[name], schema, *path)
    return found


def _additional(comparison: Comparison, before: Any, after: Any) -> Found:
    was, now = before.get("additionalProperties", True), after.get("additionalProperties", True)
    path = ("additionalProperties",)
    if now is False:
        return [] if was is False else [("ADDITIONAL_PROPERTIES_REMOVED", path)]
    if was is False or _says_nothing(now):
        return []
    if _says_nothing(was):
        return [("ADDITIONAL_PROPERTIES_NARROWED", path)]
    return comparison.compare(was, now, *path)


def _unevaluated(comparison: Comparison, before: Any, after: Any) -> Found:
    word = "unevaluatedProperties"
    was, now = before.get(word, True), after.get(word, True)
    if now is False:
        return [] if was is False else [("UNEVALUATED_PROPERTIES_REMOVED", (word,))]
    if was is False or _says_nothing(now):
        return []
    if _says_nothing(was):
        return [("UNEVALUATED_PROPERTIES_NARROWED", (word,))]
    return comparison.compare(was, now, word)


def _is_open(node: Any) -> bool:
    """Whether any property may stand in it."""
    return (
        _says_nothing(node.get("additionalProperties", True))
        and not _schemas(node, "patternProperties")
        and _says_nothing(node.get("unevaluatedProperties", True))
    )


def _schema_for_others(node: Any, name: str) -> Any | None:
    """What holds for a property that is not described by name, None if there can be none."""
    for pattern, schema in _schemas(node, "patternProperties").items():
        if _matches(pattern, name):
            return schema
    for word in ("additionalProperties", "unevaluatedProperties"):
        if isinstance(node.get(word), dict):
            return node[word]
    return None


def _matches(pattern: str, name: str) -> bool:
    try:
        return compile_regex(pattern, "A pattern of properties").search(name) is not None
    except KafkaError:
        # What RE2 cannot do in linear time matches nothing, rather than costing anything.
        return False


def _split_dependencies(node: Any) -> tuple[dict[str, set[str]], dict[str, Any]]:
    lists: dict[str, set[str]] = {}
    schemas: dict[str, Any] = {}
    for word in ("dependencies", "dependentRequired", "dependentSchemas"):
        for name, value in _schemas(node, word).items():
            if isinstance(value, list):
                lists[name] = set(map(str, value))
            else:
                schemas[name] = value
    return lists, schemas


def _has_default(comparison: Comparison, schema: Any) -> bool:
    node = comparison.update.follow(schema)
    return isinstance(node, dict) and "default" in node


def _schemas(node: Any, word: str) -> dict[str, Any]:
    value = node.get(word)
    return value if isinstance(value, dict) else {}


def _names(node: Any) -> set[str]:
    value = node.get("required")
    return {name for name in value if isinstance(name, str)} if isinstance(value, list) else set()


def _says_nothing(schema: Any) -> bool:
    return schema is True or schema == {}
