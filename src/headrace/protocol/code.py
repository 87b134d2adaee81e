"""What the read and the write code generator share: widths, source lines, the shared scope."""

from __future__ import annotations

import struct
from typing import Any

from headrace.protocol import wire
from headrace.protocol.schema import Field, Message, Struct

#: Fixed-width kinds, by their letter in a `struct` format.
FIXED = {
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "uint16": "H",
    "uint32": "I",
    "float64": "d",
    "bool": "?",
    "uuid": "16s",
}


_shared_structs: dict[type[Struct], Struct] = {}


def shared_default(field: Field) -> Any:
    """The default value of a field; one object for all where it is a tagged struct."""
    if field.struct is None or field.default_value is None:
        return field.default_value
    return _shared_structs.setdefault(field.struct, field.default_value)


class Code:
    """Source text under construction, with the objects it refers to."""

    def __init__(self, cls: type[Message], version: int) -> None:
        self.cls = cls
        self.version = version
        self.flexible = version in cls.flexible
        self.lines: list[str] = []
        self.scope: dict[str, Any] = {
            "wire": wire,
            "small": wire.SMALL_UVARINTS,
            "uvarint": wire.write_uvarint,
        }
        self.depth = 1
        self._names = 0

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def name(self, prefix: str) -> str:
        """A local name that no other part of the function uses."""
        self._names += 1
        return f"{prefix}{self._names}"

    def share(self, prefix: str, value: object) -> str:
        """Make `value` reachable from the generated code under a name."""
        for name, known in self.scope.items():
            if known is value and name.startswith(prefix):
                return name
        name = self.name(prefix + "_")
        self.scope[name] = value
        return name

    def default(self, name: str, field: Field) -> str:
        """The name of the field's default value in the generated code."""
        return self.share("D_" + name, shared_default(field))

    def present(self, cls: type[Struct], *, tagged: bool) -> list[tuple[str, Field]]:
        """The fields that this version has, tagged or untagged, in order."""
        return [
            (name, field)
            for name, field in cls.fields.items()
            if self.version in field.versions and (field.tag is not None) == tagged
        ]

    def is_compact(self, field: Field) -> bool:
        return self.flexible and not field.never_flexible

    def minimum_size(self, field: Field) -> int:
        """The fewest bytes that one value of this field can take; at least one."""
        if field.kind in FIXED:
            return struct.calcsize(">" + FIXED[field.kind])
        if field.struct is not None:
            if self.version in field.nullable:
                return 1
            nested = sum(self.minimum_size(f) for _, f in self.present(field.struct, tagged=False))
            return max(1, nested + (1 if self.flexible else 0))
        if self.is_compact(field):
            return 1
        return 2 if field.kind == "string" else 4

    def function(self, header: str, name: str) -> Any:
        source = header + "\n" + "\n".join(self.lines)
        filename = f"<{self.cls.__name__} v{self.version} {name}>"
        exec(compile(source, filename, "exec"), self.scope)  # noqa: S102 - our own source only
        return self.scope[name]
