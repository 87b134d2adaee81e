"""Generates the source of a message's read function."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from headrace.protocol import wire
from headrace.protocol.code import FIXED, Code
from headrace.protocol.schema import Field, Request, Struct


class ReadCode(Code):
    """Walks the fields of one version and writes the statements that read them."""

    def compile(self) -> Callable[[memoryview, int], tuple[Any, int]]:
        self.scope["new"] = object.__new__
        self.line("end = len(buf)")
        if issubclass(self.cls, Request):
            self.line(f"room = {wire.REQUEST_ELEMENTS_MAX}")
        self.read_struct("message", self.cls)
        self.line("return message, pos")
        function: Callable[[memoryview, int], tuple[Any, int]] = self.function(
            "def read(buf, pos):", "read"
        )
        return function

    def read_struct(self, target: str, cls: type[Struct]) -> None:
        """Create one struct and fill it; `target` is a local name."""
        self.line(f"{target} = new({self.share('C_' + cls.__name__, cls)})")
        self.read_absent(target, cls)
        run: list[tuple[str, Field]] = []
        for name, field in self.present(cls, tagged=False):
            if field.kind in FIXED:
                run.append((name, field))
                continue
            length = self.name("n") if run and self.has_byte_length(field) else None
            self.read_run(target, run, length)
            run = []
            self.read_value(f"{target}.{name}", field, name, length)
        tags = self.name("c") if self.flexible and run else None
        self.read_run(target, run, tags)
        if self.flexible:
            self.read_tags(target, cls, tags)

    def read_absent(self, target: str, cls: type[Struct]) -> None:
        """Fields that this version lacks, and tagged ones, start at their defaults."""
        self.line(f"{target}.unknown_tags = None")
        for name, field in cls.fields.items():
            if self.version in field.versions and field.tag is None:
                continue
            if field.kind == "array" and field.is_default_fresh:
                self.line(f"{target}.{name} = []")
            elif field.struct is not None and field.is_default_fresh:
                self.line(f"{target}.{name} = {self.share('N_' + name, field.struct)}()")
            else:
                self.line(f"{target}.{name} = {self.default(name, field)}")

    def has_byte_length(self, field: Field) -> bool:
        """Whether a value of this field begins with a length that is nearly always one byte."""
        return self.is_compact(field) and (field.kind == "array" or field.struct is None)

    def read_run(self, target: str, run: list[tuple[str, Field]], byte: str | None) -> None:
        """Neighbouring fixed-width fields in one call, which also checks the bounds.

        `byte` is the local name for one more byte behind them, if that is wanted.
        """
        if not run:
            return
        letters = [FIXED[field.kind] for _, field in run]
        names = [f"{target}.{name}" for name, _ in run]
        if byte is not None:
            letters.append("B")
            names.append(byte)
        layout = struct.Struct(">" + "".join(letters))
        self.line(f"({', '.join(names)},) = {self.scope_unpack(layout)}(buf, pos)")
        self.line(f"pos += {layout.size}")

    def scope_unpack(self, layout: struct.Struct) -> str:
        name = self.name("unpack_")
        self.scope[name] = layout.unpack_from
        return name

    def read_value(self, target: str, field: Field, what: str, length: str | None = None) -> None:
        """Read one value of any type into the assignable expression `target`.

        `length` is the local name of its first byte, if that was read already.
        """
        if field.kind in FIXED:
            layout = struct.Struct(">" + FIXED[field.kind])
            self.line(f"({target},) = {self.scope_unpack(layout)}(buf, pos)")
            self.line(f"pos += {layout.size}")
        elif field.kind == "array":
            self.read_array(target, field, what, length)
        elif field.struct is not None:
            self.read_nested(target, field, what)
        else:
            self.read_blob(target, field, what, length)

    def read_nested(self, target: str, field: Field, what: str) -> None:
        assert field.struct is not None  # noqa: S101 - narrows the type
        local = self.name("s")
        if self.version not in field.nullable:
            self.read_struct(local, field.struct)
            self.line(f"{target} = {local}")
            return
        marker = self.name("m")
        self.line(f"{marker} = buf[pos]")
        self.line("pos += 1")
        # A tagged struct that is null has an unsigned 0 in front, any other a signed -1.
        self.line(f"if {marker} {'== 0' if field.tag is not None else '> 127'}:")
        self.line(f"    {target} = None")
        self.line("else:")
        self.depth += 1
        self.read_struct(local, field.struct)
        self.line(f"{target} = {local}")
        self.depth -= 1

    def read_length(self, field: Field, what: str, width: str, first: str | None) -> str:
        """Read a length or count, or the rest of it, as it stands there.

        A compact one is one too large, so that 0 means null; of the others -1 does.
        """
        length = first or self.name("n")
        if not self.is_compact(field):
            layout = struct.Struct(width)
            self.line(f"({length},) = {self.scope_unpack(layout)}(buf, pos)")
            self.line(f"pos += {layout.size}")
            return length
        if first is None:
            self.line(f"{length} = buf[pos]")
            self.line("pos += 1")
        self.line(f"if {length} > 127:")
        self.line(f"    {length}, pos = wire.read_uvarint(buf, pos - 1)")
        if field.kind == "string" and issubclass(self.cls, Request):
            self.line(f"    if {length} - 1 > {wire.STRING_MAX}:")
            self.line(f"        raise wire.long({what!r})")
        return length

    def open_present(self, field: Field, length: str) -> None:
        """The branch of a value that is there; the commonest comes first."""
        if self.is_compact(field):
            self.line(f"if {length} > 1:")
            self.line(f"    {length} -= 1")
        else:
            self.line(f"if {length} >= 0:")
        self.depth += 1

    def close_present(self, target: str, field: Field, what: str, length: str, empty: str) -> None:
        """The branches of an empty one and of null, which is an error where it must not be."""
        self.depth -= 1
        if self.is_compact(field):
            self.line(f"elif {length}:")
            self.line(f"    {target} = {empty}")
        self.line("else:")
        if self.version in field.nullable:
            self.line(f"    {target} = None")
        else:
            self.line(f"    raise wire.null({what!r})")

    def read_blob(self, target: str, field: Field, what: str, first: str | None) -> None:
        length = self.read_length(field, what, ">h" if field.kind == "string" else ">i", first)
        self.open_present(field, length)
        stop = self.name("e")
        self.line(f"{stop} = pos + {length}")
        self.line(f"if {stop} > end:")
        self.line(f"    raise wire.short({what!r})")
        value, empty = {
            "string": (f"str(buf[pos:{stop}], 'utf-8')", "''"),
            "records": (f"buf[pos:{stop}]", "buf[pos:pos]"),
            "bytes": (f"bytes(buf[pos:{stop}])", "b''"),
        }[field.kind]
        self.line(f"{target} = {value}")
        self.line(f"pos = {stop}")
        self.close_present(target, field, what, length, empty)

    def charge(self, count: str, what: str) -> None:
        """Requests come from anybody: all their elements together stay within a limit."""
        if issubclass(self.cls, Request):
            self.line(f"room -= {count}")
            self.line("if room < 0:")
            self.line(f"    raise wire.crowded({what!r})")

    def read_array(self, target: str, field: Field, what: str, first: str | None) -> None:
        element = field.element
        assert element is not None  # noqa: S101 - narrows the type
        count = self.read_length(field, what, ">i", first)
        self.open_present(field, count)
        size = self.minimum_size(element)
        self.line(f"if {count} * {size} > end - pos:")
        self.line(f"    raise wire.short({what!r})")
        if element.kind in FIXED and element.kind not in ("bool", "uuid"):
            self.scope["unpack_from"] = struct.unpack_from
            letter = FIXED[element.kind]
            self.line(f"{target} = list(unpack_from('>%d{letter}' % {count}, buf, pos))")
            self.line(f"pos += {count} * {size}")
        else:
            self.charge(count, what)
            items, item = self.name("a"), self.name("i")
            self.line(f"{items} = []")
            self.line(f"for _ in range({count}):")
            self.depth += 1
            if element.struct is not None:
                self.read_struct(item, element.struct)
            else:
                self.read_value(item, element, what)
            self.line(f"{items}.append({item})")
            self.depth -= 1
            self.line(f"{target} = {items}")
        self.close_present(target, field, what, count, "[]")

    def read_tags(self, target: str, cls: type[Struct], first: str | None) -> None:
        """The tagged fields at the end of a struct; a single zero byte nearly always."""
        tag, size, stop = (self.name(letter) for letter in "tze")
        count = first or self.name("c")
        if first is None:
            self.line(f"{count} = buf[pos]")
            self.line("pos += 1")
        self.line(f"if {count}:")
        self.depth += 1
        self.line(f"{count}, pos = wire.read_uvarint(buf, pos - 1)")
        self.charge(count, "tagged fields")
        self.line(f"for _ in range({count}):")
        self.depth += 1
        self.line(f"{tag}, pos = wire.read_uvarint(buf, pos)")
        self.line(f"{size}, pos = wire.read_uvarint(buf, pos)")
        self.line(f"{stop} = pos + {size}")
        self.line(f"if {stop} > end:")
        self.line("    raise wire.short('a tagged field')")
        keyword = "if"
        for name, field in self.present(cls, tagged=True):
            self.line(f"{keyword} {tag} == {field.tag}:")
            self.depth += 1
            self.read_value(f"{target}.{name}", field, name)
            self.line(f"if pos != {stop}:")
            self.line(f"    raise wire.short({name!r})")
            self.depth -= 1
            keyword = "elif"
        if keyword == "elif":
            self.line("else:")
            self.depth += 1
        self.line(f"{target}.unknown_tags = wire.read_unknown_tag(")
        self.line(f"    buf, pos, {size}, {tag}, {target}.unknown_tags)")
        self.line(f"pos = {stop}")
        if keyword == "elif":
            self.depth -= 1
        self.depth -= 2
