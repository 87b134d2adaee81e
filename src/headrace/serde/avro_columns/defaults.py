"""The part of a program that writes what is not in the data: defaults and nulls."""

from __future__ import annotations

import struct
from typing import Any

from headrace.serde.avro_columns import opcodes as op
from headrace.serde.avro_columns.layout import WIDTHS, Column, same_level, shape_of
from headrace.serde.avro_columns.program import Assembler
from headrace.serde.avro_columns.schema import Node
from headrace.serde.errors import SchemaError

_DECIMAL_BYTES = 16


class DefaultWriter:
    """Writes instructions that need no data."""

    def __init__(self, assembler: Assembler) -> None:
        self._out = assembler

    def absent(self, column: Column) -> None:
        """Null; what lies below has an entry as well, whose value nobody sees."""
        if column.validity >= 0:
            self._out.emit(op.ABSENT, column.level, column.validity)
        for one in same_level(column):
            if one.values >= 0:
                self._out.emit(op.NO_VALUE, one.level, one.values, WIDTHS[one.kind])
            elif one.offsets >= 0:
                self._out.emit(op.NO_CONTENT, one.level, one.offsets, one.counter)

    def write(self, node: Node, value: Any, column: Column) -> None:
        """A field's default, as the reader's schema has it in JSON."""
        if node.kind != "union":
            self._plain(node, value, column)
            return
        branch = next((one for one in node.branches if fits(one, value)), None)
        if branch is None:
            self._out.fail(f"the default {value!r:.60} fits no branch of the reader's union")
        elif branch.kind == "null":
            self.absent(column)
        elif column.is_union:
            member = shape_of(node)[0].index(branch)
            for place, child in enumerate(column.children):
                if place == member:
                    self._plain(branch, value, child)
                else:
                    self.absent(child)
        else:
            self._plain(branch, value, column)

    def _plain(self, node: Node, value: Any, column: Column) -> None:
        if not fits(node, value):
            self._out.fail(f"the default {value!r:.60} does not fit the reader's {node}")
        elif node.kind == "record":
            self._record(node, value, column)
        elif node.kind in ("array", "map"):
            self._repeated(node, value, column)
        elif column.kind in WIDTHS:
            bits = _bits(node, value, column)
            width = WIDTHS[column.kind]
            self._out.emit(op.CONSTANT, column.level, column.values, width, *bits)
        elif column.kind != "null":
            latin = node.kind in ("bytes", "fixed")
            self._content(value.encode("latin-1" if latin else "utf-8"), column)

    def _content(self, content: bytes, column: Column) -> None:
        table = self._out.table(self._out.constant(content), len(content))
        self._out.emit(
            op.CONTENT, column.level, column.offsets, column.content, column.counter, table
        )

    def _repeated(self, node: Node, value: Any, column: Column) -> None:
        items = list(value.items()) if node.kind == "map" else [(None, item) for item in value]
        if items:
            self._out.emit(op.ROOM, column.counter, len(items))
        for key, item in items:
            if key is not None:
                self._content(key.encode(), column.children[0])
            self.write(node.inner, item, column.children[-1])
            self._out.emit(op.ITEM, column.counter)
        self._out.emit(op.NO_CONTENT, column.level, column.offsets, column.counter)

    def _record(self, node: Node, value: Any, column: Column) -> None:
        for field, child in zip(node.fields, column.children, strict=True):
            if field.name not in value and not field.has_default:
                self._out.fail(f"the default has no field {field.name}")
                return
            self.write(field.type, value.get(field.name, field.default), child)


def fits(node: Node, value: Any) -> bool:
    """Whether a value of JSON is of the type; what is inside of it is looked at later."""
    match node.kind:
        case "null":
            return value is None
        case "boolean":
            return isinstance(value, bool)
        case "int" | "long":
            bits = 31 if node.kind == "int" else 63
            is_number = isinstance(value, int) and not isinstance(value, bool)
            return is_number and -(2**bits) <= value < 2**bits
        case "float" | "double":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "fixed":
            return isinstance(value, str) and len(value) == node.size
        case "enum":
            return isinstance(value, str) and value in node.symbols
        case "bytes" | "string":
            return isinstance(value, str)
        case "array":
            return isinstance(value, list)
    return isinstance(value, dict)


def _bits(node: Node, value: Any, column: Column) -> tuple[int, ...]:
    """The value as the numbers that its memory holds."""
    match column.kind:
        case "decimal":
            number = int.from_bytes(value.encode("latin-1"), "big", signed=True)
            if abs(number) >= 10**node.precision:
                raise SchemaError(f"The default {value!r:.60} has more digits than its decimal.")
            low, high = struct.unpack("<qq", number.to_bytes(_DECIMAL_BYTES, "little", signed=True))
            return low, high
        case "float":
            return struct.unpack("<i", struct.pack("<f", value))
        case "double":
            return struct.unpack("<q", struct.pack("<d", value))
        case "long" if node.logical.endswith("-millis"):
            return (int(value) * 1000,)
    return (int(value),)
