"""From Avro's JSON encoding to what fastavro writes; made once per schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headrace.serde.avro_json import branch_name, inner_schema, type_of
from headrace.serde.errors import SchemaError, SerdeError

FromJson = Callable[[Any, str], Any]

_INTEGERS = {"int": 1 << 31, "long": 1 << 63}
_TEXTS = {"string": str, "boolean": bool}


def avro_from_json(schema: Any, named: Mapping[str, Any]) -> FromJson:
    """A function (JSON value, path of the field) -> what fastavro writes."""
    return _Reading(named).function(schema)


class _Reading:
    def __init__(self, named: Mapping[str, Any]) -> None:
        self._named = named
        self._made: dict[str, FromJson] = {}

    def function(self, schema: Any) -> FromJson:
        schema = inner_schema(schema)
        kind = type_of(schema)
        if kind in _INTEGERS:
            return _integer(kind, _INTEGERS[kind])
        if kind in _TEXTS:
            return _plain(kind, _TEXTS[kind])
        match kind:
            case "null":
                return _null
            case "float" | "double":
                return _float
            case "bytes":
                return _bytes
            case "fixed":
                return _fixed(schema["name"], schema["size"])
            case "enum":
                return _enum(schema["name"], frozenset(schema["symbols"]))
            case "array":
                return _array(self.function(schema["items"]))
            case "map":
                return _map(self.function(schema["values"]))
            case "union":
                return _union({branch_name(self._resolve(b)): self.function(b) for b in schema})
            case "record" | "error":
                return self._record(schema)
        return self._by_name(kind)

    def _resolve(self, schema: Any) -> Any:
        return self._named.get(schema, schema) if isinstance(schema, str) else schema

    def _by_name(self, name: str) -> FromJson:
        if name not in self._named:
            raise SchemaError(f"The Avro schema names the unknown type {name}.")
        if name not in self._made:
            # A type may contain itself, so it is looked up when it is used.
            self._made[name] = lambda value, path: self._made[name](value, path)
            self._made[name] = self.function(self._named[name])
        return lambda value, path: self._made[name](value, path)

    def _record(self, schema: Any) -> FromJson:
        name = schema["name"]
        self._made.setdefault(name, lambda value, path: self._made[name](value, path))
        fields = [
            (field["name"], self.function(field["type"]), "default" in field)
            for field in schema["fields"]
        ]
        self._made[name] = _record(name, fields)
        return self._made[name]


def _record(name: str, fields: list[tuple[str, FromJson, bool]]) -> FromJson:
    names = {field for field, _, _ in fields}

    def read(value: Any, path: str) -> Any:
        if not isinstance(value, dict):
            raise _misfit(value, path, f"record {name}")
        if not value.keys() <= names:
            unknown = next(key for key in value if key not in names)
            raise SerdeError(
                f"The value does not fit its schema: record {name} has no field {path}{unknown}."
            )
        found = {}
        for field, function, has_default in fields:
            if field in value:
                found[field] = function(value[field], f"{path}{field}.")
            elif not has_default:
                raise SerdeError(
                    f"The value does not fit its schema: field {path}{field} is missing."
                )
        return found

    return read


def _union(branches: dict[str, FromJson]) -> FromJson:
    has_null = "null" in branches

    def read(value: Any, path: str) -> Any:
        if value is None and has_null:
            return None
        if isinstance(value, dict) and len(value) == 1:
            ((tag, inner),) = value.items()
            if tag in branches:
                return (tag, branches[tag](inner, path))
        tags = ", ".join(f'{{"{name}": …}}' for name in branches if name != "null")
        raise _misfit(value, path, f"{'null or ' if has_null else ''}{tags}")

    return read


def _integer(kind: str, limit: int) -> FromJson:
    def read(value: Any, path: str) -> Any:
        if type(value) is not int or not -limit <= value < limit:
            raise _misfit(value, path, kind)
        return value

    return read


def _plain(kind: str, wanted: type) -> FromJson:
    def read(value: Any, path: str) -> Any:
        if type(value) is not wanted:
            raise _misfit(value, path, kind)
        return value

    return read


def _null(value: Any, path: str) -> Any:
    if value is not None:
        raise _misfit(value, path, "null")


def _float(value: Any, path: str) -> Any:
    if type(value) in (int, float) or value in ("NaN", "Infinity", "-Infinity"):
        return float(value)
    raise _misfit(value, path, "a number")


def _bytes(value: Any, path: str) -> bytes:
    if isinstance(value, str):
        try:
            return value.encode("latin-1")
        except UnicodeEncodeError:
            pass
    raise _misfit(value, path, "bytes as text of the characters U+0000 to U+00FF")


def _fixed(name: str, size: int) -> FromJson:
    def read(value: Any, path: str) -> Any:
        data = _bytes(value, path)
        if len(data) != size:
            raise _misfit(value, path, f"fixed {name} of {size} bytes")
        return data

    return read


def _enum(name: str, symbols: frozenset[str]) -> FromJson:
    def read(value: Any, path: str) -> Any:
        if not isinstance(value, str) or value not in symbols:
            raise _misfit(value, path, f"a symbol of enum {name}")
        return value

    return read


def _array(item: FromJson) -> FromJson:
    def read(value: Any, path: str) -> Any:
        if not isinstance(value, list):
            raise _misfit(value, path, "array")
        return [item(one, f"{path}{index}.") for index, one in enumerate(value)]

    return read


def _map(item: FromJson) -> FromJson:
    def read(value: Any, path: str) -> Any:
        if not isinstance(value, dict):
            raise _misfit(value, path, "map")
        return {key: item(one, f"{path}{key}.") for key, one in value.items()}

    return read


def _misfit(value: Any, path: str, wanted: str) -> SerdeError:
    shown = repr(value)
    shown = shown if len(shown) <= 60 else f"{shown[:60]}…"
    where = f"field {path[:-1]} holds" if path else "it is"
    return SerdeError(f"The value does not fit its schema: {where} {shown}, not {wanted}.")
