"""The part of a program that passes over what the reader does not want.

A type that contains itself is passed by a routine of its own, since its depth is in the data.
"""

from __future__ import annotations

from headrace.serde.avro_columns import opcodes as op
from headrace.serde.avro_columns.program import Assembler
from headrace.serde.avro_columns.schema import Node

_SIZE_MAX = 2**31
_FIXED_SIZES = {"float": 4, "double": 8, "boolean": 1}


class SkipWriter:
    """Writes instructions that move the position and nothing else."""

    def __init__(self, assembler: Assembler) -> None:
        self._out = assembler
        self._open: list[Node] = []
        self._calls: list[tuple[int, Node]] = []

    def skip(self, node: Node) -> None:
        out = self._out
        if node.kind == "union":
            self._union(node)
        elif node.kind == "record":
            if node in self._open:
                self._calls.append((out.emit(op.CALL), node))
                return
            self._open.append(node)
            for field in node.fields:
                self.skip(field.type)
            self._open.pop()
        elif node.kind in ("array", "map"):
            self._repeated(node)
        elif node.kind in ("int", "long", "enum"):
            out.emit(op.SKIP_NUMBER)
        elif node.kind in ("string", "bytes"):
            out.emit(op.SKIP_BYTES)
        elif node.kind != "null":
            size = node.size if node.kind == "fixed" else _FIXED_SIZES[node.kind]
            out.emit(op.SKIP_FIXED, size)

    def write_calls(self) -> None:
        """The routines that were called, behind the program."""
        written: dict[int, int] = {}
        while self._calls:
            at, node = self._calls.pop()
            if id(node) not in written:
                written[id(node)] = self._out.here
                self._open = []
                self.skip(node)
                self._out.emit(op.RETURN)
            self._out.patch(at, 1, written[id(node)])

    def _union(self, node: Node) -> None:
        out = self._out
        table = out.table(len(node.branches), *[0] * len(node.branches))
        out.emit(op.UNION, table)
        ends = []
        for index, branch in enumerate(node.branches):
            out.tables[table + 1 + index] = out.here
            self.skip(branch)
            ends.append(out.emit(op.JUMP))
        for end in ends:
            out.patch(end, 1)

    def _repeated(self, node: Node) -> None:
        out = self._out
        smallest = smallest_size(node.inner) + (node.kind == "map")
        out.emit(op.REPEAT)
        block = out.emit(op.SKIP_BLOCK, smallest)
        if node.kind == "map":
            out.emit(op.SKIP_BYTES)
        self.skip(node.inner)
        out.emit(op.SKIP_NEXT, block)
        out.patch(block, 2)


def smallest_size(node: Node, known: dict[int, int] | None = None) -> int:
    """The fewest bytes a value takes; 0 only if every value takes none."""
    known = {} if known is None else known
    if node.kind == "null":
        return 0
    if node.kind == "fixed":
        return node.size
    if node.kind == "record":
        if id(node) not in known:
            known[id(node)] = 0  # of a record inside of itself
            size = sum(smallest_size(field.type, known) for field in node.fields)
            known[id(node)] = min(size, _SIZE_MAX)
        return known[id(node)]
    return _FIXED_SIZES.get(node.kind, 1)
