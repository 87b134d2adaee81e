"""A JSON Schema as the registry sees it."""

from __future__ import annotations

from typing import Any

from headrace.registry.core.compact_json import dump, load, ordered
from headrace.registry.core.difference import Difference
from headrace.registry.core.parsed import ParsedSchema, References
from headrace.registry.errors import InvalidSchemaError
from headrace.registry.json_schema.comparison import Comparison
from headrace.registry.json_schema.documents import Documents


class JsonSchema:
    """A parsed document with the documents that it refers to."""

    __slots__ = ("_documents", "_referred")

    def __init__(self, document: Any, referred: dict[str, Any]) -> None:
        self._referred = referred
        self._documents = Documents(document, referred)

    def canonical(self) -> str:
        return dump(self._documents.root)

    def normalized(self) -> str:
        return dump(ordered(self._documents.root))

    def resolved(self) -> str:
        return dump(ordered([self._documents.root, self._referred]))

    def check(self) -> None:
        """Whether it is a schema of its draft, and its references lead somewhere."""
        import jsonschema_rs

        root = self._documents.root
        if not isinstance(root, dict | bool):
            raise InvalidSchemaError("A JSON Schema is an object, true or false")
        try:
            jsonschema_rs.meta.validate(root)
        except jsonschema_rs.ValidationError as error:
            place = "/".join(map(str, error.instance_path))
            raise InvalidSchemaError(f"Invalid JSON Schema at #/{place}: {error.message}") from None
        except (ValueError, jsonschema_rs.ReferencingError):
            # A draft of somebody's own: there is nothing to check it against.
            pass
        self._documents.check()

    def unreadable(self, writer: ParsedSchema, *, lenient: bool = False) -> list[Difference]:
        if not isinstance(writer, JsonSchema):
            raise TypeError("Only schemas of one language can be compared")
        return Comparison(writer._documents, self._documents, lenient=lenient).differences()


def parse_json_schema(text: str, references: References, *, is_new: bool) -> JsonSchema:
    referred = {name: load(other) for name, other in references.items()}
    schema = JsonSchema(load(text), referred)
    if is_new:
        schema.check()
    return schema
