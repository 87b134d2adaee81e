"""What a JSON Schema node is in essence, so that two of them can be compared.

A node may state many things at once; where it states more than one kind of thing, it is the
conjunction (`allOf`) of its parts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from headrace.registry.json_schema.documents import Documents

COMBINERS = ("allOf", "anyOf", "oneOf")
_TYPE_WORDS = {
    "object": (
        *("properties", "required", "additionalProperties", "patternProperties"),
        *("maxProperties", "minProperties", "dependencies", "dependentRequired"),
        *("dependentSchemas", "unevaluatedProperties", "propertyNames"),
    ),
    "array": (
        *("items", "prefixItems", "additionalItems", "maxItems", "minItems", "uniqueItems"),
        *("contains", "maxContains", "minContains", "unevaluatedItems"),
    ),
    "string": ("maxLength", "minLength", "pattern"),
    "number": ("maximum", "minimum", "exclusiveMaximum", "exclusiveMinimum", "multipleOf"),
}


@dataclass(frozen=True, slots=True)
class Shape:
    """`kind` is any, never, object, array, string, number, boolean, null, enum, not or combined."""

    kind: str
    node: Any
    #: For combined: which of `COMBINERS`, and the parts.
    criterion: str = ""
    parts: list[Any] = field(default_factory=list)


def shape_of(node: Any, documents: Documents) -> Shape:
    node = documents.follow(node)
    if node is False:
        return Shape("never", node)
    if not isinstance(node, dict):
        return Shape("any", node)
    parts = _parts(node)
    if not parts:
        return Shape("any", node)
    if len(parts) > 1:
        return Shape("combined", node, "allOf", parts)
    return _single(parts[0])


def _parts(node: dict[str, Any]) -> list[dict[str, Any]]:
    """The statements of a node, each as a node of its own."""
    parts = []
    typed = _typed(node)
    if typed is not None:
        parts.append(typed)
    parts += [{word: node[word]} for word in COMBINERS if isinstance(node.get(word), list)]
    if "not" in node:
        parts.append({"not": node["not"]})
    # A node that was split keeps its identity where there is nothing else in it.
    return [node] if len(parts) == 1 else parts


def _typed(node: dict[str, Any]) -> dict[str, Any] | None:
    if isinstance(node.get("enum"), list) or "const" in node or "type" in node:
        return {name: value for name, value in node.items() if name not in (*COMBINERS, "not")}
    for words in _TYPE_WORDS.values():
        if any(word in node for word in words):
            return {name: value for name, value in node.items() if name not in (*COMBINERS, "not")}
    return None


def _single(node: dict[str, Any]) -> Shape:
    for word in COMBINERS:
        if isinstance(node.get(word), list) and _typed(node) is None:
            return Shape("combined", node, word, node[word])
    if "not" in node and _typed(node) is None:
        return Shape("not", node)
    if isinstance(node.get("enum"), list) or "const" in node:
        return Shape("enum", node)
    kind = node.get("type")
    if isinstance(kind, list):
        if len(kind) == 1:
            return _single(_as(node, kind[0]))
        return Shape("combined", node, "anyOf", [_as(node, one) for one in kind])
    if kind is None:
        kind = next(
            name for name, words in _TYPE_WORDS.items() if any(word in node for word in words)
        )
    if kind == "integer":
        return Shape("number", node)
    return Shape(str(kind), node)


def _as(node: dict[str, Any], kind: Any) -> dict[str, Any]:
    """The part of a node that speaks of one of its types."""
    others = [
        word
        for name, words in _TYPE_WORDS.items()
        if name != kind and not (kind == "integer" and name == "number")
        for word in words
    ]
    return {**{k: v for k, v in node.items() if k not in others}, "type": kind}
