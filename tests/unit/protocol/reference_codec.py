"""A second writer of messages: slow, straight from the definition, and aware of every count.

It says where the counts and lengths of a message lie in its bytes, so that tests can lie about
each of them; and it tells the compiled writers apart from the definitions they were made from.
"""

from dataclasses import dataclass
from dataclasses import field as dataclass_field
from struct import calcsize, pack
from typing import Any

from headrace.protocol.code import FIXED
from headrace.protocol.schema import Field, Message, Struct


@dataclass
class Count:
    """Where a count or a length begins and ends in the bytes, and how it is written."""

    name: str
    start: int
    end: int
    form: str  # "varint", ">i" or ">h"

    def replaced(self, data: bytes, value: int) -> bytes:
        """`data` with another number here; -1 stands for null in all forms."""
        new = _uvarint(value + 1) if self.form == "varint" else pack(self.form, value)
        return data[: self.start] + new + data[self.end :]


@dataclass
class Written:
    """The bytes of a message and the counts in them."""

    data: bytearray = dataclass_field(default_factory=bytearray)
    counts: list[Count] = dataclass_field(default_factory=list)


def write(message: Message, version: int) -> Written:
    """Encode a message; the result equals what the compiled writer makes."""
    written = Written()
    _Writer(version, version in type(message).flexible, written).struct(message)
    return written


class _Writer:
    def __init__(self, version: int, flexible: bool, out: Written) -> None:
        self._version = version
        self._flexible = flexible
        self._out = out

    def struct(self, value: Struct) -> None:
        tagged = []
        for name, field in value.fields.items():
            if self._version not in field.versions:
                continue
            if field.tag is None:
                self.value(name, field, getattr(value, name))
            elif getattr(value, name) != field.default_value:
                tagged.append((field.tag, name, field))
        if self._flexible:
            self._tags(value, sorted(tagged, key=lambda one: one[0]))

    def _tags(self, value: Struct, tagged: list[tuple[int, str, Field]]) -> None:
        data = self._out.data
        data += _uvarint(len(tagged))
        for tag, name, field in tagged:
            inner = Written()
            _Writer(self._version, True, inner).value(name, field, getattr(value, name))
            data += _uvarint(tag) + _uvarint(len(inner.data))
            for count in inner.counts:
                count.start += len(data)
                count.end += len(data)
            self._out.counts += inner.counts
            data += inner.data

    def value(self, name: str, field: Field, value: Any) -> None:
        data = self._out.data
        if field.kind in FIXED:
            data += pack(">" + FIXED[field.kind], value)
        elif field.kind == "array":
            self._count(name, field, ">i", value)
            for item in value or ():
                assert field.element is not None
                self.value(name, field.element, item)
        elif field.struct is not None:
            if self._version in field.nullable:
                # A tagged struct that is null has an unsigned 0 in front, any other a signed -1.
                null = b"\xff" if field.tag is None else b"\0"
                data += null if value is None else b"\x01"
            if value is not None:
                self.struct(value)
        else:
            raw = value.encode() if isinstance(value, str) else value
            self._count(name, field, ">h" if field.kind == "string" else ">i", raw)
            data += raw or b""

    def _count(self, name: str, field: Field, form: str, value: Any) -> None:
        count = -1 if value is None else len(value)
        if self._flexible and not field.never_flexible:
            form = "varint"
        start = len(self._out.data)
        self._out.data += _uvarint(count + 1) if form == "varint" else pack(form, count)
        end = start + calcsize(form) if form != "varint" else len(self._out.data)
        self._out.counts.append(Count(name, start, end, form))


def _uvarint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)
