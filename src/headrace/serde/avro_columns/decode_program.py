"""From a writer's and a reader's schema to a program that decodes one row."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from headrace.serde.avro_columns import opcodes as op
from headrace.serde.avro_columns.defaults import DefaultWriter
from headrace.serde.avro_columns.layout import Column, shape_of
from headrace.serde.avro_columns.program import Assembler
from headrace.serde.avro_columns.resolution import fields_by_reader, find_branch, matches
from headrace.serde.avro_columns.schema import Node
from headrace.serde.avro_columns.skipping import SkipWriter, smallest_size

_STORES = {"long": 1, "float": 2, "double": 3}
_UNITS = {"millis": 1000, "micros": 1, "nanos": -1000}


def write_null_row(assembler: Assembler, root: Column) -> None:
    """The instructions at 0: null for everything that has an entry for each row."""
    DefaultWriter(assembler).absent(root)
    assembler.emit(op.END)


class DecodeWriter:
    """Writes the program of one writer's schema behind those that are there."""

    def __init__(self, assembler: Assembler) -> None:
        self._out = assembler
        self._defaults = DefaultWriter(assembler)
        self._skips = SkipWriter(assembler)

    def write(self, writer: Node, reader: Node, root: Column) -> int:
        """Where the program begins."""
        entry = self._out.here
        self._any(writer, reader, root)
        self._out.path = ""
        self._out.emit(op.END)
        self._skips.write_calls()
        return entry

    # ---------------------------------------------------------------- unions

    def _any(self, writer: Node, reader: Node, column: Column) -> None:
        if writer.kind != "union":
            self._plain(writer, reader, column)
            return
        out = self._out
        table = out.table(len(writer.branches), *[0] * len(writer.branches))
        out.emit(op.UNION, table)
        ends = []
        for index, branch in enumerate(writer.branches):
            out.tables[table + 1 + index] = out.here
            self._plain(branch, reader, column)
            if index + 1 < len(writer.branches):
                ends.append(out.emit(op.JUMP))
        for end in ends:
            out.patch(end, 1)

    def _plain(self, writer: Node, reader: Node, column: Column) -> None:
        if reader.kind != "union":
            self._match(writer, reader, column)
            return
        index = find_branch(writer, reader.branches)
        if index < 0:
            self._out.fail(f"the reader's union has no branch for the writer's {writer}")
            return
        branch = reader.branches[index]
        if branch.kind == "null":
            self._defaults.absent(column)
        elif column.is_union:
            member = shape_of(reader)[0].index(branch)
            for place, child in enumerate(column.children):
                if place != member:
                    self._defaults.absent(child)
            with self._below(f".member{member}"):
                self._match(writer, branch, column.children[member])
        else:
            self._match(writer, branch, column)

    # ---------------------------------------------------------------- types

    def _match(self, writer: Node, reader: Node, column: Column) -> None:
        out = self._out
        if not matches(writer, reader):
            out.fail(f"the writer's {writer} cannot be read as {reader}")
        elif writer.kind == "record":
            self._record(writer, reader, column)
        elif writer.kind in ("array", "map"):
            self._repeated(writer, reader, column)
        elif writer.kind == "enum":
            self._enum(writer, reader, column)
        elif column.kind == "decimal":
            self._decimal(writer, reader, column)
        elif writer.kind in ("int", "long"):
            self._integer(writer, reader, column)
        elif writer.kind in ("float", "double"):
            kind = op.FLOAT if column.kind == "float" else op.FLOAT_TO_DOUBLE
            kind = op.DOUBLE if writer.kind == "double" else kind
            out.emit(kind, column.level, column.values)
        elif writer.kind == "boolean":
            out.emit(op.BOOLEAN, column.level, column.values)
        elif writer.kind != "null":
            self._content(writer, column)

    def _integer(self, writer: Node, reader: Node, column: Column) -> None:
        out = self._out
        factor = _factor(writer, reader)
        wire = 0 if writer.kind == "int" else 1
        if column.kind == "int":
            out.emit(op.INT, column.level, column.values)
        elif column.kind == "long" and wire == 1 and factor == 1:
            out.emit(op.LONG, column.level, column.values)
        else:
            store = _STORES[column.kind]
            out.emit(op.NUMBER, wire, store, column.level, column.values, factor)

    def _content(self, writer: Node, column: Column) -> None:
        kind = op.STRING if column.kind == "string" else op.BYTES
        kind = op.FIXED if writer.kind == "fixed" else kind
        self._out.emit(
            kind, column.level, column.offsets, column.content, column.counter, writer.size
        )

    def _decimal(self, writer: Node, reader: Node, column: Column) -> None:
        if writer.logical == "decimal" and writer.scale != reader.scale:
            self._out.fail(
                f"the writer's decimal has scale {writer.scale}, the reader's {reader.scale}"
            )
            return
        limit = 10**reader.precision
        table = self._out.table(limit >> 64, _signed(limit & (2**64 - 1)))
        kind = op.FIXED_DECIMAL if writer.kind == "fixed" else op.DECIMAL
        self._out.emit(kind, column.level, column.values, table, writer.size)

    def _enum(self, writer: Node, reader: Node, column: Column) -> None:
        words = [len(writer.symbols)]
        for symbol in writer.symbols:
            read = symbol if symbol in reader.symbols else reader.symbol_default
            content = b"" if read is None else read.encode()
            words += [self._out.constant(content), -1 if read is None else len(content)]
        self._out.emit(
            op.ENUM,
            *(column.level, column.offsets, column.content, column.counter),
            self._out.table(*words),
        )

    def _repeated(self, writer: Node, reader: Node, column: Column) -> None:
        out = self._out
        smallest = smallest_size(writer.inner) + (writer.kind == "map")
        out.emit(op.REPEAT)
        block = out.emit(op.BLOCK, column.level, column.offsets, column.counter, smallest)
        with self._below("[]"):
            if writer.kind == "map":
                self._content(Node("string"), column.children[0])
            self._any(writer.inner, reader.inner, column.children[-1])
        out.emit(op.NEXT, column.counter, block)
        out.patch(block, 5)

    def _record(self, writer: Node, reader: Node, column: Column) -> None:
        written = fields_by_reader(writer, reader)
        readers = {id(field): name for name, field in written.items()}
        places = {field.name: index for index, field in enumerate(reader.fields)}
        for field in writer.fields:
            name = readers.get(id(field))
            with self._below(f".{name or field.name}"):
                if name is None:
                    self._skips.skip(field.type)
                else:
                    at = places[name]
                    self._any(field.type, reader.fields[at].type, column.children[at])
        for field, child in zip(reader.fields, column.children, strict=True):
            if field.name in written:
                continue
            with self._below(f".{field.name}"):
                if field.has_default:
                    self._defaults.write(field.type, field.default, child)
                else:
                    self._out.fail("the writer has no such field, and the reader no default for it")

    @contextmanager
    def _below(self, step: str) -> Iterator[None]:
        before = self._out.path
        self._out.path = before + step
        yield
        self._out.path = before


def _factor(writer: Node, reader: Node) -> int:
    """From the unit of the numbers to microseconds; a divisor if negative.

    The writer knows the unit; where it says nothing, the reader's counts.
    """
    if not reader.logical.endswith(("-millis", "-micros")):
        return 1
    said = writer.logical if "timestamp-" in writer.logical else reader.logical
    return _UNITS[said.rpartition("-")[2]]


def _signed(number: int) -> int:
    return number - 2**64 if number >= 2**63 else number
