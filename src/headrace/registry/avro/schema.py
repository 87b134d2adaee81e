"""An Avro schema as the registry sees it."""

from __future__ import annotations

from headrace.registry.avro.compatibility import unreadable
from headrace.registry.avro.parser import AvroParser
from headrace.registry.avro.types import AvroType
from headrace.registry.avro.writer import canonical, normalized
from headrace.registry.core.difference import Difference
from headrace.registry.core.parsed import ParsedSchema, References


class AvroSchema:
    """A parsed schema; `known` are the named types that its references define."""

    __slots__ = ("_known", "type")

    def __init__(self, type_: AvroType, known: frozenset[str]) -> None:
        self.type = type_
        self._known = known

    def canonical(self) -> str:
        return canonical(self.type, self._known)

    def normalized(self) -> str:
        return normalized(self.type, self._known)

    def resolved(self) -> str:
        return normalized(self.type)

    def resolved_text(self) -> str:
        """As `canonical`, with the types of its references written out in it."""
        return canonical(self.type)

    def unreadable(self, writer: ParsedSchema) -> list[Difference]:
        if not isinstance(writer, AvroSchema):
            raise TypeError("Only schemas of one language can be compared")
        return unreadable(self.type, writer.type)


def parse_avro(text: str, references: References, *, is_new: bool) -> AvroSchema:
    """Parse a schema after the ones it refers to; new ones must have defaults of their types."""
    parser = AvroParser()
    for referred in references.values():
        parser.parse(referred)
    known = frozenset(parser.names)
    checked = AvroParser(check_defaults=is_new)
    checked.names = parser.names
    return AvroSchema(checked.parse(text), known)
