"""A program as the kernel takes it: code, tables and constants; and how it is written.

The programs of all writers' schemas of one reader lie one behind the other in the same arrays, so
that rows of several schemas are decoded in one pass. Instruction 0 writes a null row.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from headrace.serde.avro_columns import opcodes as op
from headrace.serde.errors import SchemaError

#: What a schema that multiplies itself by references can cost.
_INSTRUCTIONS_MAX = 200_000


@dataclass(slots=True)
class Assembler:
    """Instructions, with the path of the field that each one is about."""

    code: list[int] = field(default_factory=list)
    tables: list[int] = field(default_factory=list)
    constants: bytearray = field(default_factory=bytearray)
    paths: list[str] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    path: str = ""

    @property
    def here(self) -> int:
        return len(self.code)

    def emit(self, *words: int) -> int:
        """Add an instruction; return where it is."""
        if len(self.paths) >= _INSTRUCTIONS_MAX:
            raise SchemaError("The Avro schema is too large.")
        at = self.here
        self.code += words
        self.code += [0] * (op.WIDTH - len(words))
        self.paths.append(self.path)
        return at

    def patch(self, at: int, operand: int, value: int | None = None) -> None:
        """Fill in an operand that was not known yet; by default with where we are now."""
        self.code[at + operand] = self.here if value is None else value

    def mark(self) -> tuple[int, ...]:
        """Where everything ends now, for `rewind`."""
        return tuple(len(part) for part in self._parts())

    def rewind(self, mark: tuple[int, ...]) -> None:
        """Forget what was written since."""
        for part, length in zip(self._parts(), mark, strict=True):
            del part[length:]
        self.path = ""

    def _parts(self) -> tuple[Any, ...]:
        return self.code, self.tables, self.constants, self.paths, self.messages

    def table(self, *words: int) -> int:
        at = len(self.tables)
        self.tables += words
        return at

    def constant(self, content: bytes) -> int:
        at = len(self.constants)
        self.constants += content
        return at

    def fail(self, message: str) -> None:
        self.emit(op.FAIL, len(self.messages))
        self.messages.append(message)

    def reason(self, failure: int, place: int) -> str:
        """One sentence on a row that could not be decoded."""
        if failure == op.TOO_SHORT:
            return "The data is too short for a magic byte and a schema id."
        if failure == op.NO_MAGIC:
            return (
                "The data does not begin with the magic byte 0x00:"
                " it was not written with a schema of the registry."
            )
        path = self.paths[place // op.WIDTH].lstrip(".")
        what = (
            self.messages[self.code[place + 1]]
            if failure == op.UNREADABLE
            else op.REASONS.get(failure, "the data is not Avro of its schema")
        )
        where = f"field {path}: " if path else ""
        return f"The data cannot be decoded: {where}{what}."
