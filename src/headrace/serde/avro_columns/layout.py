"""The columns that values of a reader's schema become, and the memory they are written to.

Arrow's columns, named by what the kernel needs: a column belongs to a level (the rows, or the items
of one array or map), and all columns of a level have the same length. Each column is one or more
regions: values, offsets, bytes, and a byte per value that says whether it is there. How long a
region must be follows from one counter: that of its level, or that of the column's own bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pyarrow as pa

from headrace.serde.avro_columns.schema import Node
from headrace.serde.errors import SchemaError

_COLUMNS_MAX = 10_000
_DECIMAL_DIGITS_MAX = 38
_INTEGERS = {"int", "long"}
_REALS = {"float", "double"}

#: The bytes of one value; text and bytes have offsets instead.
WIDTHS = {"boolean": 1, "int": 4, "long": 8, "float": 4, "double": 8, "decimal": 16}


@dataclass(slots=True)
class Region:
    """Memory for `cap[counter] + extra` elements of `width` bytes."""

    width: int
    counter: int
    extra: int = 0
    #: What it holds before anything is written; -1: it does not matter.
    fill: int = -1


@dataclass(slots=True, eq=False)
class Column:
    """A column, its regions and its children. `kind` is that of Avro, or decimal."""

    kind: str
    level: int
    arrow: pa.DataType
    #: Regions, -1 where the column has none.
    validity: int = -1
    values: int = -1
    offsets: int = -1
    content: int = -1
    #: Counter of its bytes, or of the items of an array or a map.
    counter: int = -1
    children: list[Column] = field(default_factory=list)
    #: A union of several types: one child for each, of which one is not null.
    is_union: bool = False


class Layout:
    """All columns of a reader's schema. Counter 0 counts the rows."""

    def __init__(self, reader: Node) -> None:
        self.counters = 1
        self.regions: list[Region] = []
        self._columns = 0
        self._open: list[Node] = []
        self.root = self._column(reader, 0, is_nullable=True, path="")

    # ---------------------------------------------------------------- building

    def _column(self, node: Node, level: int, *, is_nullable: bool, path: str) -> Column:
        self._columns += 1
        if self._columns > _COLUMNS_MAX:
            raise SchemaError(f"The Avro schema makes more than {_COLUMNS_MAX} columns.")
        branches, has_null = shape_of(node)
        if has_null and not branches:
            return Column("null", level, pa.null())
        column = (
            self._plain(branches[0], level, path)
            if len(branches) == 1
            else self._union(branches, level, path)
        )
        if is_nullable or has_null:
            column.validity = self._region(1, level, fill=1)
        return column

    def _union(self, branches: list[Node], level: int, path: str) -> Column:
        children = [
            self._column(branch, level, is_nullable=True, path=f"{path}.member{index}")
            for index, branch in enumerate(branches)
        ]
        arrow = pa.struct([(f"member{index}", one.arrow) for index, one in enumerate(children)])
        return Column("record", level, arrow, children=children, is_union=True)

    def _plain(self, node: Node, level: int, path: str) -> Column:
        kind = node.kind
        if kind == "record":
            return self._record(node, level, path)
        if kind in ("array", "map"):
            return self._repeated(node, level, path)
        if node.logical == "decimal":
            if node.precision > _DECIMAL_DIGITS_MAX:
                raise SchemaError(
                    f"The decimal{_at(path)} has {node.precision} digits;"
                    f" {_DECIMAL_DIGITS_MAX} are possible."
                )
            arrow = pa.decimal128(node.precision, node.scale)
            return Column("decimal", level, arrow, values=self._region(16, level))
        if kind in WIDTHS:
            return Column(kind, level, _ARROW[kind, _family(node)], values=self._fixed(kind, level))
        return self._bytes("string" if kind in ("string", "enum") else "bytes", level)

    def _record(self, node: Node, level: int, path: str) -> Column:
        if node in self._open:
            raise SchemaError(
                f"The Avro schema is recursive: {node.name} contains itself{_at(path)},"
                " and columns cannot nest without end."
            )
        self._open.append(node)
        children = [
            self._column(one.type, level, is_nullable=False, path=f"{path}.{one.name}")
            for one in node.fields
        ]
        self._open.pop()
        arrow = pa.struct(
            [(one.name, child.arrow) for one, child in zip(node.fields, children, strict=True)]
        )
        return Column("record", level, arrow, children=children)

    def _repeated(self, node: Node, level: int, path: str) -> Column:
        items = self._counter()
        offsets = self._region(4, level, extra=1)
        inner = self._column(node.inner, items, is_nullable=False, path=f"{path}[]")
        if node.kind == "array":
            arrow = pa.list_(pa.field("element", inner.arrow))
            return Column("array", level, arrow, offsets=offsets, counter=items, children=[inner])
        key = self._bytes("string", items)
        arrow = pa.map_(pa.string(), pa.field("value", inner.arrow))
        return Column("map", level, arrow, offsets=offsets, counter=items, children=[key, inner])

    def _bytes(self, kind: str, level: int) -> Column:
        counter = self._counter()
        offsets = self._region(4, level, extra=1)
        content = self._region(1, counter)
        arrow = pa.string() if kind == "string" else pa.binary()
        return Column(kind, level, arrow, offsets=offsets, content=content, counter=counter)

    def _fixed(self, kind: str, level: int) -> int:
        return self._region(WIDTHS[kind], level)

    def _counter(self) -> int:
        self.counters += 1
        return self.counters - 1

    def _region(self, width: int, counter: int, *, extra: int = 0, fill: int = -1) -> int:
        self.regions.append(Region(width, counter, extra, fill))
        return len(self.regions) - 1


def shape_of(node: Node) -> tuple[list[Node], bool]:
    """The types behind a column as Spark sees them, and whether null is one of them.

    Spark's own rules: a union of int and long is a long, one of float and double a double; any
    other union is a struct with one member for each of its types.
    """
    if node.kind == "null":
        return [], True
    if node.kind != "union":
        return [node], False
    branches = [branch for branch in node.branches if branch.kind != "null"]
    has_null = len(branches) < len(node.branches)
    kinds = {branch.kind for branch in branches}
    if len(branches) > 1 and kinds in (_INTEGERS, _REALS):
        branches = [Node("long" if kinds == _INTEGERS else "double")]
    return branches, has_null


def same_level(column: Column) -> Iterator[Column]:
    """The column and those below it that have an entry for each of its entries."""
    yield column
    if column.kind == "record":
        for child in column.children:
            yield from same_level(child)


def _family(node: Node) -> str:
    """What the logical type makes of a number."""
    if node.logical.endswith(("-millis", "-micros")):
        return "local" if node.logical.startswith("local-") else "instant"
    return node.logical if node.logical == "date" else ""


_ARROW = {
    ("boolean", ""): pa.bool_(),
    ("int", ""): pa.int32(),
    ("int", "date"): pa.date32(),
    ("long", ""): pa.int64(),
    ("long", "instant"): pa.timestamp("us", "UTC"),
    ("long", "local"): pa.timestamp("us"),
    ("float", ""): pa.float32(),
    ("double", ""): pa.float64(),
}


def _at(path: str) -> str:
    return f" at {path.lstrip('.')}" if path else ""
