"""The seven compatibility levels: against which versions, and in which direction."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headrace.registry.core.difference import Difference
from headrace.registry.core.parsed import ParsedSchema
from headrace.registry.core.schema import SchemaVersion
from headrace.registry.errors import InvalidSchemaError

LEVELS = (
    "NONE",
    "BACKWARD",
    "BACKWARD_TRANSITIVE",
    "FORWARD",
    "FORWARD_TRANSITIVE",
    "FULL",
    "FULL_TRANSITIVE",
)
DEFAULT_LEVEL = "BACKWARD"
#: A longer text of an older schema is cut in a message.
_SHOWN_MAX = 10 * 1024


def check_level(
    level: str,
    new: ParsedSchema,
    new_type: str,
    previous: Sequence[SchemaVersion],
    parse: Callable[[SchemaVersion], ParsedSchema],
    *,
    lenient: bool = False,
) -> list[str]:
    """What breaks between a schema and the versions before it (oldest first), in sentences."""
    if level == "NONE" or not previous:
        return []
    is_transitive = level.endswith("_TRANSITIVE")
    for version in list(reversed(previous)) if is_transitive else previous[-1:]:
        if version.schema.type != new_type:
            return ["Incompatible because of different schema type"]
        messages = _check(level, new, parse(version), lenient=lenient)
        if messages:
            return [*messages, *_told(version)]
    return []


def _check(level: str, new: ParsedSchema, old: ParsedSchema, *, lenient: bool) -> list[str]:
    messages: list[str] = []
    if not level.startswith("BACKWARD"):
        found = _unreadable(old, new, lenient=lenient)
        messages += [one.text("old", "new") for one in found]
    if not level.startswith("FORWARD"):
        found = _unreadable(new, old, lenient=lenient)
        messages += [one.text("new", "old") for one in found]
    return messages


def _unreadable(reader: ParsedSchema, writer: ParsedSchema, *, lenient: bool) -> list[Difference]:
    from headrace.registry.json_schema.schema import JsonSchema

    try:
        if lenient and isinstance(reader, JsonSchema):
            return reader.unreadable(writer, lenient=True)
        return reader.unreadable(writer)
    except RecursionError:
        # Types that refer to each other may be nested deeper than any text is.
        raise InvalidSchemaError("The schema is nested too deeply to be compared") from None


def _told(version: SchemaVersion) -> list[str]:
    text = version.schema.text
    shown = f"'{text}'" if len(text) <= _SHOWN_MAX else f"<truncated> '{text[:_SHOWN_MAX]}...'"
    return [f"{{oldSchemaVersion: {version.version}}}", f"{{oldSchema: {shown}}}"]
