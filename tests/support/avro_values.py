"""Avro data made by chance: bytes of a schema, and the value that columns must show for them."""

import struct
from random import Random
from typing import Any

_DEPTH_MAX = 6
_TEXTS = ("", "a", "naïve", "𝄞", "x" * 200)
_LONGS = (0, -1, 63, 64, -65, 2**31, -(2**63), 2**63 - 1)
#: Avro 1.12.0 for Java passes the doubles of an array through a float: none that a float rounds.
_DOUBLES = (0.0, -1.5, 2.0**100, float("inf"))
_FLOATS = (0.0, -1.5, 3.25, float("inf"))


def zigzag(number: int) -> bytes:
    rest = (number << 1) ^ (number >> 63)
    data = bytearray()
    while rest > 0x7F:
        data.append(rest & 0x7F | 0x80)
        rest >>= 7
    data.append(rest)
    return bytes(data)


class TooDeep(Exception):
    """A recursive schema that would not come to an end."""


class AvroValues:
    """Values of one schema; `named` are the named types in it."""

    def __init__(self, random: Random, schema: Any) -> None:
        self._random = random
        self._schema = schema
        self._named: dict[str, Any] = {}
        self._collect(schema)

    def make(self) -> tuple[bytes, Any]:
        return self._make(self._schema, 0)

    def _collect(self, schema: Any) -> None:
        if isinstance(schema, list):
            for branch in schema:
                self._collect(branch)
        elif isinstance(schema, dict):
            if schema.get("type") in ("record", "enum", "fixed"):
                self._named[schema["name"]] = schema
            for field in schema.get("fields", ()):
                self._collect(field["type"])
            for word in ("items", "values"):
                if word in schema:
                    self._collect(schema[word])

    def _make(self, schema: Any, depth: int) -> tuple[bytes, Any]:
        if depth > 40:
            raise TooDeep
        if isinstance(schema, list):
            return self._union(schema, depth)
        if isinstance(schema, str):
            return self._primitive(schema, depth)
        kind = schema["type"]
        match kind:
            case "record":
                made = [(f["name"], self._make(f["type"], depth + 1)) for f in schema["fields"]]
                return b"".join(d for _, (d, _v) in made), {n: v for n, (_d, v) in made}
            case "enum":
                index = self._random.randrange(len(schema["symbols"]))
                return zigzag(index), schema["symbols"][index]
            case "fixed":
                data = self._random.randbytes(schema["size"])
                return data, data
            case "array" | "map":
                return self._repeated(schema, depth)
        return self._make(kind, depth)

    def _union(self, branches: list[Any], depth: int) -> tuple[bytes, Any]:
        index = self._random.randrange(len(branches))
        if depth > _DEPTH_MAX:
            simple = [i for i, one in enumerate(branches) if one in ("null", "int", "string")]
            index = simple[0] if simple else index
        data, value = self._make(branches[index], depth + 1)
        return zigzag(index) + data, member(branches, index, value)

    def _repeated(self, schema: Any, depth: int) -> tuple[bytes, Any]:
        random = self._random
        is_map = schema["type"] == "map"
        element = schema["values"] if is_map else schema["items"]
        data, values = b"", list[Any]()
        blocks = 0 if depth > _DEPTH_MAX else random.choice((0, 1, 1, 2))
        for _ in range(blocks):
            block, count = b"", random.randint(1, 3)
            for _ in range(count):
                item, value = self._make(element, depth + 1)
                if is_map:
                    key = f"k{len(values)}"
                    block += zigzag(len(key)) + key.encode()
                    values.append((key, value))
                else:
                    values.append(value)
                block += item
            sized = random.random() < 0.5
            data += zigzag(-count) + zigzag(len(block)) if sized else zigzag(count)
            data += block
        return data + b"\0", values

    def _primitive(self, kind: str, depth: int) -> tuple[bytes, Any]:
        random = self._random
        if kind in self._named:
            return self._make(self._named[kind], depth + 1)
        match kind:
            case "null":
                return b"", None
            case "boolean":
                value = random.random() < 0.5
                return bytes([value]), value
            case "int":
                number = random.choice((0, -1, 64, 2**24 - 1, -(2**31), random.randint(-999, 999)))
                return zigzag(number), number
            case "long":
                number = random.choice(_LONGS)
                return zigzag(number), number
            case "float":
                real = random.choice(_FLOATS)
                return struct.pack("<f", real), real
            case "double":
                real = random.choice(_DOUBLES)
                return struct.pack("<d", real), real
            case "string":
                text = random.choice(_TEXTS)
                return zigzag(len(text.encode())) + text.encode(), text
        data = random.choice(_TEXTS).encode()
        return zigzag(len(data)) + data, data


def member(branches: list[Any], index: int, value: Any) -> Any:
    """How a column shows a value of a union: itself, or in a struct of all types but null."""
    real = [i for i, branch in enumerate(branches) if branch != "null"]
    kinds = {str(branches[i]) for i in real}
    if index not in real:
        return None
    if len(real) == 1:
        return value
    if kinds in ({"int", "long"}, {"float", "double"}):
        return value
    return {f"member{n}": value if i == index else None for n, i in enumerate(real)}
