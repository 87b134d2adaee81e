"""From the type of a column and a schema to a program that writes one row."""

from __future__ import annotations

import io
import json
from typing import Any

from fastavro import parse_schema, schemaless_writer

from headrace.serde.avro_columns import encode_opcodes as op
from headrace.serde.avro_columns.arrow_input import Source
from headrace.serde.avro_columns.program import Assembler
from headrace.serde.avro_columns.schema import Field, Node
from headrace.serde.errors import SchemaError, SerdeError

_NUMBERS = {
    ("boolean", "boolean"): op.BOOLEAN,
    ("int", "int"): op.INT,
    ("int", "long"): op.INT,
    ("int", "double"): op.INT_TO_DOUBLE,
    ("date", "int"): op.INT,
    ("long", "long"): op.LONG,
    ("float", "float"): op.FLOAT,
    ("float", "double"): op.FLOAT_TO_DOUBLE,
    ("double", "double"): op.DOUBLE,
}
_CONTENT = {
    ("string", "string"),
    ("string", "bytes"),
    ("bytes", "bytes"),
    ("bytes", "fixed"),
    ("string", "enum"),
}
_DIVISORS = {"millis": 1000, "micros": 1, "nanos": -1000}


class EncodeWriter:
    """Writes the program of one schema for columns of one type."""

    def __init__(self, assembler: Assembler) -> None:
        self._out = assembler

    def write(self, node: Node, source: Source) -> None:
        self._any(node, source, is_root=True)
        self._out.path = ""
        self._out.emit(op.END)

    def _any(self, node: Node, source: Source, *, is_root: bool = False) -> None:
        out = self._out
        if node.kind == "union":
            self._union(node, source)
        elif node.kind == "null":
            return
        elif not fits(node, source):
            raise self._misfit(node, source)
        else:
            # Null rows are null records: what is left is there.
            if not is_root:
                out.emit(op.REQUIRED, source.level, source.validity)
            self._plain(node, source)

    def _misfit(self, node: Node, source: Source) -> SerdeError:
        path = self._out.path.lstrip(".")
        where = f"The column's field {path}" if path else "The column"
        return SerdeError(f"{where} is {source.arrow}, which cannot be written as Avro's {node}.")

    # ---------------------------------------------------------------- unions

    def _union(self, node: Node, source: Source) -> None:
        out = self._out
        real = [(i, one) for i, one in enumerate(node.branches) if one.kind != "null"]
        null = next((i for i, one in enumerate(node.branches) if one.kind == "null"), -1)
        chosen = next((pair for pair in real if fits(pair[1], source)), None)
        if len(real) > 1 and _are_members(source, len(real)):
            self._members(real, null, source)
        elif chosen is not None:
            if null < 0:
                out.emit(op.REQUIRED, source.level, source.validity)
                self._branch(chosen[0])
                self._plain(chosen[1], source)
                return
            at = out.emit(op.NULLABLE, source.level, source.validity, null, chosen[0])
            self._plain(chosen[1], source)
            out.patch(at, 5)
        elif source.kind == "null" and null >= 0:
            self._branch(null)
        else:
            raise self._misfit(node, source)

    def _branch(self, number: int) -> None:
        content = _number(number)
        self._out.emit(op.CONSTANT, self._out.constant(content), len(content))

    def _members(self, real: list[tuple[int, Node]], null: int, source: Source) -> None:
        """A struct of which one member is not null, as `from_registry` gives it."""
        out = self._out
        # Which branch it is when it is not null, the members say.
        absent = out.emit(op.NULLABLE, source.level, source.validity, null, -1) if null >= 0 else -1
        if null < 0:
            out.emit(op.REQUIRED, source.level, source.validity)
        words = [len(real)]
        for (branch, _), child in zip(real, source.children, strict=True):
            words += [child.validity, branch, 0]
        table = out.table(*words)
        out.emit(op.MEMBERS, source.level, table)
        out.emit(op.NULL_OF_MEMBERS, null)
        ends = [out.emit(op.JUMP)]
        for index, ((_, node), child) in enumerate(zip(real, source.children, strict=True)):
            out.tables[table + 1 + 3 * index + 2] = out.here
            if not fits(node, child):
                raise self._misfit(node, child)
            self._plain(node, child)
            ends.append(out.emit(op.JUMP))
        for end in ends:
            out.patch(end, 1)
        if absent >= 0:
            out.patch(absent, 5)

    # ---------------------------------------------------------------- types

    def _plain(self, node: Node, source: Source) -> None:
        out = self._out
        pair = (source.kind, node.kind)
        if node.kind == "record":
            self._record(node, source)
        elif node.kind in ("array", "map"):
            self._repeated(node, source)
        elif node.logical == "decimal" and source.kind == "decimal":
            size = node.size if node.kind == "fixed" else -1
            out.emit(op.DECIMAL, source.level, source.values, size)
        elif source.kind == "timestamp":
            divisor = _DIVISORS.get(node.logical.rpartition("-")[2], 1)
            kind = op.LONG if divisor == 1 else op.TIME
            out.emit(kind, source.level, source.values, divisor)
        elif node.kind == "enum":
            words = [len(node.symbols)]
            for symbol in node.symbols:
                words += [out.constant(symbol.encode()), len(symbol.encode())]
            table = out.table(*words)
            out.emit(op.ENUM, source.level, source.values, source.content, table)
        elif pair in _NUMBERS:
            out.emit(_NUMBERS[pair], source.level, source.values)
        else:
            size = node.size if node.kind == "fixed" else -1
            out.emit(op.BYTES, source.level, source.values, source.content, size)

    def _repeated(self, node: Node, source: Source) -> None:
        out = self._out
        path = out.path
        out.path += "[]"
        repeat = out.emit(op.REPEAT, source.level, source.values, source.items)
        first = out.here
        if node.kind == "map":
            self._plain(Node("string"), source.children[0])
        self._any(node.inner, source.children[-1])
        out.emit(op.NEXT, source.items, first)
        out.patch(repeat, 4)
        out.path = path

    def _record(self, node: Node, source: Source) -> None:
        children = {child.name: child for child in source.children}
        path = self._out.path
        for field in node.fields:
            self._out.path = f"{path}.{field.name}"
            child = children.pop(field.name, None)
            if child is not None:
                self._any(field.type, child)
            elif field.has_default:
                self._default(field)
            else:
                raise SerdeError(
                    f"The schema's field {self._out.path.lstrip('.')} is not in the column,"
                    " and has no default."
                )
        self._out.path = path
        if children:
            where = path.lstrip(".") or "the column"
            raise SerdeError(f"The schema has no field {next(iter(children))}, which {where} has.")

    def _default(self, field: Field) -> None:
        content = _encoded(field.type, field.default)
        self._out.emit(op.CONSTANT, self._out.constant(content), len(content))


def fits(node: Node, source: Source) -> bool:
    """Whether values of the column's type can be written as the schema's; inside may differ."""
    if source.kind == "timestamp":
        if node.kind != "long":
            return False
        is_local = node.logical.startswith("local-")
        return not node.logical or is_local == (source.arrow.tz is None)
    if source.kind == "decimal":
        enough = node.precision - node.scale >= source.arrow.precision - source.arrow.scale
        return node.logical == "decimal" and node.scale == source.arrow.scale and enough
    if node.logical == "decimal":
        return False
    if source.kind in ("record", "array", "map"):
        return node.kind == source.kind
    return (source.kind, node.kind) in _NUMBERS or (source.kind, node.kind) in _CONTENT


def _are_members(source: Source, count: int) -> bool:
    names = [f"member{index}" for index in range(count)]
    return source.kind == "record" and [child.name for child in source.children] == names


def _encoded(node: Node, default: Any) -> bytes:
    """The default as Avro writes it."""
    schema = plain_schema(node, set())
    value = _python_value(node, default)
    stream = io.BytesIO()
    try:
        schemaless_writer(stream, parse_schema(schema), value)
    except Exception as error:
        raise SchemaError(f"The default {default!r:.60} does not fit its {node}.") from error
    return stream.getvalue()


def plain_schema(node: Node, named: set[str]) -> Any:
    """The type as JSON again, without logical types: defaults are of what lies below them."""
    if node.kind == "union":
        return [plain_schema(branch, named) for branch in node.branches]
    if node.kind == "array":
        return {"type": "array", "items": plain_schema(node.inner, named)}
    if node.kind == "map":
        return {"type": "map", "values": plain_schema(node.inner, named)}
    if not node.name:
        return node.kind
    if node.name in named:
        return node.name
    named.add(node.name)
    made: dict[str, Any] = {"type": node.kind, "name": node.name}
    if node.kind == "enum":
        made["symbols"] = list(node.symbols)
    elif node.kind == "fixed":
        made["size"] = node.size
    else:
        made["fields"] = [
            {"name": one.name, "type": plain_schema(one.type, named)} for one in node.fields
        ]
    return json.loads(json.dumps(made))


def _python_value(node: Node, value: Any) -> Any:
    """A default of JSON as fastavro takes values: bytes are bytes, and every field is there."""
    match node.kind:
        case "union":
            from headrace.serde.avro_columns.defaults import fits as is_of

            branch = next((one for one in node.branches if is_of(one, value)), None)
            return value if branch is None else _python_value(branch, value)
        case "bytes" | "fixed":
            return value.encode("latin-1") if isinstance(value, str) else value
        case "array":
            return [_python_value(node.inner, one) for one in value]
        case "map":
            return {key: _python_value(node.inner, one) for key, one in value.items()}
        case "record":
            return {
                one.name: _python_value(one.type, value.get(one.name, one.default))
                for one in node.fields
            }
    return value


def _number(number: int) -> bytes:
    stream = io.BytesIO()
    schemaless_writer(stream, "long", number)
    return stream.getvalue()
