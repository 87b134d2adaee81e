"""The types of an Avro schema that fastavro has parsed: what is inside of what."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any

from headrace.serde.avro_json import inner_schema, type_of


class AvroTypes:
    """Schemas with their names looked up, and what is inside of each."""

    def __init__(self, named: Mapping[str, Any]) -> None:
        self._named = named
        self._empty: dict[str, bool] = {}

    def of(self, schema: Any) -> tuple[str, Any]:
        schema = inner_schema(schema)
        if isinstance(schema, str) and schema in self._named:
            schema = inner_schema(self._named[schema])
        kind = type_of(schema)
        return ("record" if kind == "error" else kind), schema

    def inside(self, schema: Any) -> list[Any]:
        kind, schema = self.of(schema)
        match kind:
            case "record":
                return [field["type"] for field in schema["fields"]]
            case "union":
                return list(schema)
            case "array":
                return [schema["items"]]
            case "map":
                return [schema["values"]]
        return []

    def is_empty(self, schema: Any) -> bool:
        """Whether values take no bytes."""
        kind, schema = self.of(schema)
        if kind == "fixed":
            return bool(schema["size"] == 0)
        if kind != "record":
            return kind == "null"
        name = schema["name"]
        if name not in self._empty:
            # A record that always contains itself has no values, so this is as good as no.
            self._empty[name] = True
            self._empty[name] = all(map(self.is_empty, self.inside(schema)))
        return self._empty[name]

    def has_empty_items(self, schema: Any) -> bool:
        return any(
            kind == "array" and self.is_empty(found["items"])
            for kind, found in self._all_below([schema])
        )

    def may_be_deeper(self, schema: Any, levels: int) -> bool:
        """Whether values may have so many levels; a record that may contain itself may."""
        is_recursive = _has_cycle(
            {
                record["name"]: _records(self._all_below(self.inside(record), into_records=False))
                for kind, record in self._all_below([schema])
                if kind == "record"
            }
        )
        try:
            return is_recursive or self._depth(schema, {}) > levels
        except RecursionError:
            return True

    def count_records(self, schema: Any) -> int:
        return sum(kind == "record" for kind, _ in self._all_below([schema]))

    def _depth(self, schema: Any, known: dict[str, int]) -> int:
        kind, schema = self.of(schema)
        name = schema["name"] if kind == "record" else ""
        if name in known:
            return known[name]
        inside = self.inside(schema)
        depth = 1 + max((self._depth(part, known) for part in inside), default=0)
        if name:
            known[name] = depth
        return depth

    def has_endless_records(self, schema: Any) -> bool:
        """Whether a record always contains itself, so that reading it never comes to an end."""
        return _has_cycle(
            {
                record["name"]: _records(map(self.of, self.inside(record)))
                for kind, record in self._all_below([schema])
                if kind == "record"
            }
        )

    def _all_below(
        self, schemas: list[Any], *, into_records: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """Every type that values may have in them, each record once."""
        seen: set[str] = set()
        waiting = list(schemas)
        while waiting:
            kind, found = self.of(waiting.pop())
            if kind == "record":
                if found["name"] in seen:
                    continue
                seen.add(found["name"])
            yield kind, found
            if kind != "record" or into_records:
                waiting += self.inside(found)


def _records(types: Iterable[tuple[str, Any]]) -> set[str]:
    return {found["name"] for kind, found in types if kind == "record"}


def _has_cycle(edges: Mapping[str, set[str]]) -> bool:
    try:
        TopologicalSorter(edges).prepare()
    except CycleError:
        return True
    return False
