"""Avro schemas made by chance, and small changes to them, so that pairs are often close."""

import copy
from random import Random
from typing import Any

_PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
_DEFAULTS: dict[str, Any] = {
    "null": None,
    "boolean": True,
    "int": 3,
    "long": 4,
    "float": 1.5,
    "double": 2.5,
    "bytes": "a",
    "string": "b",
}


def make_schema(random: Random) -> Any:
    """A record most of the time; names are used once, and again as references."""
    maker = _Maker(random)
    return maker.record(0) if random.random() < 0.8 else maker.type(0)


def change_schema(random: Random, schema: Any) -> Any:
    """The same schema with one to three things changed somewhere."""
    changed = copy.deepcopy(schema)
    for _ in range(random.randint(1, 3)):
        _change_once(random, changed)
    return changed


class _Maker:
    def __init__(self, random: Random) -> None:
        self.random = random
        self.count = 0
        self.known: list[str] = []
        self.open: list[str] = []

    def type(self, depth: int) -> Any:
        kinds = ["primitive"] * 4
        if depth < 4:
            kinds += ["record", "enum", "fixed", "array", "map", "union"]
        if self.known:
            kinds += ["known"]
        match self.random.choice(kinds):
            case "record":
                return self.record(depth)
            case "enum":
                return self.enum()
            case "fixed":
                return {"type": "fixed", "name": self.name(), "size": self.random.randint(1, 4)}
            case "array":
                return {"type": "array", "items": self.type(depth + 1)}
            case "map":
                return {"type": "map", "values": self.type(depth + 1)}
            case "union":
                return self.union(depth)
            case "known":
                return self.random.choice(self.known)
        return self.random.choice(_PRIMITIVES)

    def record(self, depth: int) -> Any:
        name = self.name()
        self.known.append(name)
        fields = []
        for index in range(self.random.randint(0, 4)):
            field: dict[str, Any] = {"name": f"f{index}", "type": self.type(depth + 1)}
            kind = field["type"]
            if isinstance(kind, str) and kind in _DEFAULTS and self.random.random() < 0.4:
                field["default"] = _DEFAULTS[kind]
            if self.random.random() < 0.1:
                field["aliases"] = [f"r{self.random.randint(0, 9)}f{index}"]
            if self.random.random() < 0.1:
                field["order"] = "descending"
            fields.append(field)
        return {"type": "record", "name": name, "fields": fields}

    def enum(self) -> Any:
        symbols = [f"S{n}" for n in range(self.random.randint(1, 4))]
        enum: dict[str, Any] = {"type": "enum", "name": self.name(), "symbols": symbols}
        if self.random.random() < 0.3:
            enum["default"] = symbols[0]
        return enum

    def union(self, depth: int) -> Any:
        branches: list[Any] = list(self.random.sample(_PRIMITIVES, self.random.randint(1, 3)))
        if self.random.random() < 0.5:
            branches.append(self.record(depth + 1))
        if self.random.random() < 0.2:
            branches.append({"type": "array", "items": self.type(depth + 1)})
        return branches

    def name(self) -> str:
        self.count += 1
        prefix = self.random.choice(("", "", "a.", "b."))
        return f"{prefix}N{self.count}"


def _change_once(random: Random, schema: Any) -> None:
    node = random.choice(list(_nodes(schema)) or [{}])
    if node.get("fields"):
        field = random.choice(node["fields"])
        match random.randint(0, 5):
            case 0:
                node["fields"].remove(field)
            case 1:
                new = {"name": f"g{random.randint(0, 99)}", "type": random.choice(_PRIMITIVES)}
                if all(one["name"] != new["name"] for one in node["fields"]):
                    node["fields"].append(new)
            case 2 if isinstance(field["type"], str):
                field["type"] = random.choice(_PRIMITIVES)
                field.pop("default", None)
            case 3:
                field["name"] = f"r{random.randint(0, 9)}{field['name']}"
            case 4:
                field["type"] = ["null", field["type"]] if isinstance(field["type"], str) else "int"
                field.pop("default", None)
    elif "symbols" in node:
        node["symbols"].append(f"S{random.randint(4, 9)}{len(node['symbols'])}")
    elif "size" in node:
        node["size"] += 1
    elif "items" in node and isinstance(node["items"], str):
        node["items"] = random.choice(_PRIMITIVES)


def _nodes(schema: Any) -> Any:
    if isinstance(schema, dict):
        yield schema
        for word in ("fields", "items", "values", "type"):
            yield from _nodes(schema.get(word))
    elif isinstance(schema, list):
        for one in schema:
            yield from _nodes(one)
