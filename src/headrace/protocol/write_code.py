"""Generates the source of a message's write function."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from headrace.protocol.code import FIXED, Code
from headrace.protocol.schema import Field, Struct


class WriteCode(Code):
    """Walks the fields of one version and writes the statements that append them."""

    def compile(self) -> Callable[[Any, Callable[[Any], None]], None]:
        self.write_struct("message", self.cls)
        self.line("return None")
        function: Callable[[Any, Callable[[Any], None]], None] = self.function(
            "def write(message, put):", "write"
        )
        return function

    def write_struct(self, source: str, cls: type[Struct]) -> None:
        run: list[tuple[str, Field]] = []
        for name, field in self.present(cls, tagged=False):
            if field.kind in FIXED:
                run.append((name, field))
                continue
            self.write_run(source, run)
            run = []
            self.write_value(f"{source}.{name}", field)
        self.write_run(source, run)
        if self.flexible:
            self.write_tags(source, cls)

    def write_run(self, source: str, run: list[tuple[str, Field]]) -> None:
        if run:
            layout = ">" + "".join(FIXED[field.kind] for _, field in run)
            values = ", ".join(f"{source}.{name}" for name, _ in run)
            self.line(f"put({self.pack(layout)}({values}))")

    def pack(self, layout: str) -> str:
        name = self.name("pack_")
        self.scope[name] = struct.Struct(layout).pack
        return name

    def write_value(self, source: str, field: Field) -> None:
        if field.kind in FIXED:
            self.line(f"put({self.pack('>' + FIXED[field.kind])}({source}))")
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
        self.line(f"if {local} is None:")
        self.line(f"    put({null!r})")
        self.line("else:")
        self.depth += 1
        self.line(r"put(b'\x01')")
        self.write_struct(local, field.struct)
        self.depth -= 1

    def write_length(self, length: str, field: Field, layout: str) -> None:
        if self.is_compact(field):
            local = self.name("n")
            self.line(f"{local} = {length} + 1")
            self.line(f"put(small[{local}] if {local} < 128 else wire.write_uvarint({local}))")
        else:
            self.line(f"put({self.pack(layout)}({length}))")

    def open_null_branch(self, local: str, field: Field, layout: str) -> None:
        if self.version not in field.nullable:
            return
        absent = b"\0" if self.is_compact(field) else struct.pack(layout, -1)
        self.line(f"if {local} is None:")
        self.line(f"    put({absent!r})")
        self.line("else:")
        self.depth += 1

    def close_null_branch(self, field: Field) -> None:
        if self.version in field.nullable:
            self.depth -= 1

    def write_blob(self, source: str, field: Field) -> None:
        local = self.name("b")
        layout = ">h" if field.kind == "string" else ">i"
        self.line(f"{local} = {source}")
        self.open_null_branch(local, field, layout)
        if field.kind == "string":
            self.line(f"{local} = {local}.encode()")
        self.write_length(f"len({local})", field, layout)
        self.line(f"put({local})")
        self.close_null_branch(field)

    def write_array(self, source: str, field: Field) -> None:
        element = field.element
        assert element is not None  # noqa: S101 - narrows the type
        items, item = self.name("a"), self.name("i")
        self.line(f"{items} = {source}")
        self.open_null_branch(items, field, ">i")
        self.write_length(f"len({items})", field, ">i")
        if element.kind in FIXED and element.kind not in ("bool", "uuid"):
            self.scope["pack"] = struct.pack
            self.line(f"put(pack('>%d{FIXED[element.kind]}' % len({items}), *{items}))")
        else:
            self.line(f"for {item} in {items}:")
            self.depth += 1
            if element.struct is not None:
                self.write_struct(item, element.struct)
                self.end_element()
            else:
                self.write_value(item, element)
            if self.lines[-1].endswith(":"):
                self.line("pass")
            self.depth -= 1
        self.close_null_branch(field)

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
        self.line(r"    put(b'\x00')")
        self.line("else:")
        self.depth += 1
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
            self.line(f"put = {outer}")
            self.line(f"{tags}[{field.tag}] = b''.join({chunks})")
            self.depth -= 1
        self.line(f"put(wire.write_uvarint(len({tags})))")
        tag, data = self.name("k"), self.name("v")
        self.line(f"for {tag}, {data} in sorted({tags}.items()):")
        self.line(f"    put(wire.write_uvarint({tag}))")
        self.line(f"    put(wire.write_uvarint(len({data})))")
        self.line(f"    put({data})")
        self.depth -= 1
