"""Generates the source of a message's write function."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from headrace.protocol.code import FIXED, Code
from headrace.protocol.schema import Field, Message, Struct


class WriteCode(Code):
    """Walks the fields of one version and writes the statements that append them.

    Fixed-width values are held back as long as others may follow, so that neighbours leave in one
    `struct` call, a one-byte length and the empty tagged fields behind them too.
    """

    def __init__(self, cls: type[Message], version: int) -> None:
        super().__init__(cls, version)
        self._letters = ""
        self._values: list[str] = []

    def compile(self) -> Callable[[Any, Callable[[Any], None]], None]:
        self.write_message()
        self.line("return None")
        function: Callable[[Any, Callable[[Any], None]], None] = self.function(
            "def write(message, put):", "write"
        )
        return function

    def write_message(self) -> None:
        self.write_struct("message", self.cls)
        self.flush()

    def write_struct(self, source: str, cls: type[Struct]) -> None:
        for name, field in self.present(cls, tagged=False):
            self.write_value(f"{source}.{name}", field)
        if self.flexible:
            self.write_tags(source, cls)

    # What is held back

    def hold(self, letter: str, value: str) -> None:
        self._letters += letter
        self._values.append(value)

    def packed(self, more: str = "", *values: str) -> str:
        """The expression of what is held back as bytes, with `more` behind it."""
        layout = struct.Struct(">" + self._letters + more)
        name = self.name("pack_")
        self.scope[name] = layout.pack
        return f"{name}({', '.join((*self._values, *values))})"

    def forget_held(self) -> None:
        self._letters, self._values = "", []

    def flush(self) -> None:
        """Nothing may be held back where the code branches, repeats or puts something else."""
        if self._letters:
            self.line(f"put({self.packed()})")
            self.forget_held()

    # Values

    def write_value(self, source: str, field: Field) -> None:
        if field.kind in FIXED:
            self.hold(FIXED[field.kind], source)
        elif field.kind == "array":
            self.write_array(source, field)
        elif field.struct is not None:
            self.write_nested(source, field)
        else:
            self.write_blob(source, field)

    def write_nested(self, source: str, field: Field) -> None:
        assert field.struct is not None  # noqa: S101 - narrows the type
        local = self.name("s")
        self.line(f"{local} = {source}")
        if self.version not in field.nullable:
            self.write_struct(local, field.struct)
            return
        # As in `read_code`: null is an unsigned 0 in a tagged field, a signed -1 elsewhere.
        null = b"\0" if field.tag is not None else b"\xff"
        self.flush()
        self.line(f"if {local} is None:")
        self.line(f"    put({null!r})")
        self.line("else:")
        self.depth += 1
        self.line(r"put(b'\x01')")
        self.write_struct(local, field.struct)
        self.flush()
        self.depth -= 1

    def open_present(self, local: str, field: Field, letter: str) -> None:
        """Write the length of what `local` holds; what follows is for a value that is there."""
        is_nullable = self.version in field.nullable
        if self.is_compact(field):
            length = self.name("n")
            absent = f"0 if {local} is None else " if is_nullable else ""
            self.line(f"{length} = {absent}len({local}) + 1")
            if self._letters:
                short, held = self.packed("B", length), self.packed()
                self.line(f"put({short} if {length} < 128 else {held} + uvarint({length}))")
                self.forget_held()
            else:
                self.line(f"put(small[{length}] if {length} < 128 else uvarint({length}))")
            if is_nullable:
                self.line(f"if {length} > 1:")
                self.depth += 1
            return
        if is_nullable:
            self.flush()
            self.line(f"if {local} is None:")
            self.line(f"    put({struct.pack('>' + letter, -1)!r})")
            self.line("else:")
            self.depth += 1
        self.hold(letter, f"len({local})")
        self.flush()

    def close_present(self, field: Field) -> None:
        if self.version in field.nullable:
            self.depth -= 1

    def write_blob(self, source: str, field: Field) -> None:
        local = self.name("b")
        self.line(f"{local} = {source}")
        if field.kind == "string":
            condition = f" if {local} is not None else None"
            is_nullable = self.version in field.nullable
            self.line(f"{local} = {local}.encode(){condition if is_nullable else ''}")
        self.open_present(local, field, "h" if field.kind == "string" else "i")
        self.line(f"put({local})")
        self.close_present(field)

    def write_array(self, source: str, field: Field) -> None:
        element = field.element
        assert element is not None  # noqa: S101 - narrows the type
        items, item = self.name("a"), self.name("i")
        self.line(f"{items} = {source}")
        self.open_present(items, field, "i")
        if element.kind in FIXED and element.kind not in ("bool", "uuid"):
            self.scope["pack"] = struct.pack
            self.line(f"put(pack('>%d{FIXED[element.kind]}' % len({items}), *{items}))")
        else:
            self.line(f"for {item} in {items}:")
            self.depth += 1
            if element.struct is not None:
                self.write_struct(item, element.struct)
                self.flush()
                self.end_element()
            else:
                self.write_value(item, element)
                self.flush()
            if self.lines[-1].endswith(":"):
                self.line("pass")
            self.depth -= 1
        self.close_present(field)

    def end_element(self) -> None:
        """One element of a list of structs is written."""

    def write_tags(self, source: str, cls: type[Struct]) -> None:
        """Tagged fields that differ from their default, then those of a newer peer."""
        known = self.present(cls, tagged=True)
        # Nearly always everything is at its default, and the shared default objects show it.
        at_default = [f"{source}.unknown_tags is None"]
        for name, field in known:
            if field.kind == "array" and field.is_default_fresh:
                at_default.append(f"not {source}.{name}")
            else:
                at_default.append(f"{source}.{name} is {self.default(name, field)}")
        self.line(f"if {' and '.join(at_default)}:")
        self.line(f"    put({self.packed('x') if self._letters else repr(bytes(1))})")
        self.line("else:")
        self.depth += 1
        self.flush()
        tags, chunks = self.name("t"), self.name("c")
        self.line(f"{tags} = dict({source}.unknown_tags or ())")
        for name, field in known:
            default = self.default(name, field)
            self.line(f"if {source}.{name} is not {default} and {source}.{name} != {default}:")
            self.depth += 1
            outer = self.name("outer")
            self.line(f"{chunks} = []")
            self.line(f"{outer}, put = put, {chunks}.append")
            self.write_value(f"{source}.{name}", field)
            self.flush()
            self.line(f"put = {outer}")
            self.line(f"{tags}[{field.tag}] = b''.join({chunks})")
            self.depth -= 1
        self.line(f"put(uvarint(len({tags})))")
        tag, data = self.name("k"), self.name("v")
        self.line(f"for {tag}, {data} in sorted({tags}.items()):")
        self.line(f"    put(uvarint({tag}))")
        self.line(f"    put(uvarint(len({data})))")
        self.line(f"    put({data})")
        self.depth -= 1
