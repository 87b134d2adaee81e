"""A Protobuf schema as the registry sees it."""

from __future__ import annotations

from headrace.registry.core.difference import Difference
from headrace.registry.core.parsed import ParsedSchema, References
from headrace.registry.errors import InvalidSchemaError
from headrace.registry.protobuf.compatibility import unreadable
from headrace.registry.protobuf.files import serialized, text_of
from headrace.registry.protobuf.statements import layout, ordered, read_statements
from headrace.serde.errors import SchemaError
from headrace.serde.protobuf_files import ProtobufFiles


class ProtobufSchema:
    """A parsed file with what it imports."""

    __slots__ = ("_files", "_references", "_statements")

    def __init__(self, text: str, references: References) -> None:
        plain = text_of(text)
        try:
            self._statements = read_statements(plain)
            self._files = ProtobufFiles(plain, references)
        except SchemaError as error:
            raise InvalidSchemaError(str(error)) from error
        self._references = references

    def canonical(self) -> str:
        return layout(self._statements)

    def normalized(self) -> str:
        return layout(ordered(self._statements))

    def resolved(self) -> str:
        """All names in full, so that it no longer matters how a text spelt them."""
        return "\n".join((self.serialized(), *self._references))

    def serialized(self) -> str:
        return serialized(self._files.main)

    def unreadable(self, writer: ParsedSchema) -> list[Difference]:
        if not isinstance(writer, ProtobufSchema):
            raise TypeError("Only schemas of one language can be compared")
        return unreadable(self._files.main, writer._files.main)


def parse_protobuf(text: str, references: References) -> ProtobufSchema:
    return ProtobufSchema(text, references)
