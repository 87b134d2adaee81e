"""JSON Schema documents and the `$ref`s between them; nothing is ever fetched from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin

from headrace.registry.errors import InvalidSchemaError

_HOPS_MAX = 100
_IDS = ("$id", "id")
_META = "json-schema.org/"


class Documents:
    """A schema, and the documents that its references name."""

    def __init__(self, root: Any, references: Mapping[str, Any]) -> None:
        self.root = root
        self._places: dict[str, Any] = {}
        #: The base address of each subschema that changes it.
        self._bases: dict[int, str] = {}
        self._add("", root)
        for name, document in references.items():
            self._add(name, document)

    def follow(self, node: Any) -> Any:
        """What a node means once its `$ref`s are followed."""
        hops = 0
        while isinstance(node, dict) and isinstance(node.get("$ref"), str):
            hops += 1
            if hops > _HOPS_MAX:
                raise InvalidSchemaError(f"The reference {node['$ref']} leads to itself")
            node = self._find(node["$ref"], self._bases.get(id(node), ""))
        return node

    def check(self) -> None:
        """Every `$ref` of the schema itself leads somewhere."""
        for node in _subschemas(self.root):
            if isinstance(node, dict) and isinstance(node.get("$ref"), str):
                self.follow(node)

    def _find(self, reference: str, base: str) -> Any:
        address, fragment = urldefrag(reference)
        for place in (urljoin(base, address) if address else base, address):
            document = self._places.get(place.rstrip("#"))
            if document is None:
                continue
            if not fragment:
                return document
            if not fragment.startswith("/"):
                found = self._places.get(f"{place}#{fragment}")
                if found is not None:
                    return found
                continue
            found = _pointed(document, fragment)
            if found is not None:
                return found
        if _META in address:
            return True
        raise InvalidSchemaError(f"Unresolved reference: {reference}")

    def _add(self, name: str, document: Any) -> None:
        self._places[name] = document
        self._walk(document, name)

    def _walk(self, document: Any, base: str) -> None:
        waiting = [(document, base)]
        while waiting:
            node, here = waiting.pop()
            if isinstance(node, list):
                waiting += ((one, here) for one in node)
            if not isinstance(node, dict):
                continue
            own = next((node[word] for word in _IDS if isinstance(node.get(word), str)), "")
            if own.startswith("#"):
                self._places[f"{here}{own}"] = node
            elif own:
                here = urljoin(here, urldefrag(own)[0])
                self._places.setdefault(here, node)
            for word in ("$anchor", "$dynamicAnchor"):
                if isinstance(node.get(word), str):
                    self._places[f"{here}#{node[word]}"] = node
            self._bases[id(node)] = here
            waiting += ((one, here) for one in node.values())


def _pointed(document: Any, pointer: str) -> Any:
    node = document
    for step in unquote(pointer).split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(node, dict):
            node = node.get(name)
        elif isinstance(node, list) and name.isdecimal() and int(name) < len(node):
            node = node[int(name)]
        else:
            return None
    return node


#: Where JSON is data rather than schema.
_DATA = ("enum", "const", "default", "examples", "example")


def _subschemas(root: Any) -> list[Any]:
    found, waiting = [], [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting += node
        elif isinstance(node, dict):
            found.append(node)
            waiting += (value for name, value in node.items() if name not in _DATA)
    return found
