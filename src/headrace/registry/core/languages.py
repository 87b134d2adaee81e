"""The schema languages: which parser reads which type, and in which forms a text can be had."""

from __future__ import annotations

from headrace.registry.core.parsed import ParsedSchema, References
from headrace.registry.core.schema import AVRO, JSON, PROTOBUF, TYPES
from headrace.registry.errors import InvalidSchemaError


def parse(type_: str, text: str, references: References, *, is_new: bool = False) -> ParsedSchema:
    """Parse a text; a new one is held to rules that older ones may break."""
    if not text.strip():
        raise InvalidSchemaError("Empty schema")
    try:
        # Each language is imported with its first schema.
        if type_ == AVRO:
            from headrace.registry.avro.schema import parse_avro

            return parse_avro(text, references, is_new=is_new)
        if type_ == JSON:
            from headrace.registry.json_schema.schema import parse_json_schema

            return parse_json_schema(text, references, is_new=is_new)
        if type_ == PROTOBUF:
            from headrace.registry.protobuf.schema import parse_protobuf

            return parse_protobuf(text, references)
    except RecursionError:
        raise InvalidSchemaError("The schema is nested too deeply") from None
    raise InvalidSchemaError(f"Invalid schema type {type_}: it is one of {', '.join(TYPES)}")


def formatted(schema: ParsedSchema, form: str) -> str:
    """The text in another form: `resolved` for Avro, `serialized` for Protobuf."""
    if form == "resolved":
        from headrace.registry.avro.schema import AvroSchema

        if isinstance(schema, AvroSchema):
            return schema.resolved_text()
    if form == "serialized":
        from headrace.registry.protobuf.schema import ProtobufSchema

        if isinstance(schema, ProtobufSchema):
            return schema.serialized()
    return schema.canonical()
