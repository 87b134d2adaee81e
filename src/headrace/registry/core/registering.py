"""Registering a schema: the one command that gives out ids and versions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headrace.registry.core.levels import check_level
from headrace.registry.core.lookup import canonical_schema, find_schema, with_inherited
from headrace.registry.core.records import (
    Record,
    context_record,
    schema_record,
    schema_tombstone,
)
from headrace.registry.core.registry import Decision, Registry
from headrace.registry.core.schema import Schema, SchemaVersion
from headrace.registry.core.settings import IMPORT, READONLY, READONLY_OVERRIDE, READWRITE
from headrace.registry.core.subjects import DEFAULT_CONTEXT, context_of
from headrace.registry.errors import (
    InvalidSchemaError,
    id_does_not_match,
    incompatible,
    not_permitted,
)

_ID_MAX = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class Registration:
    """What a client asks for; ids and versions of its own choice are for import mode."""

    subject: str
    schema: Schema
    id: int = -1
    #: 0: the next one; -1: only if it is the latest one already.
    version: int = 0
    normalize: bool = False
    #: Without a look at compatibility.
    force: bool = False


def find_registered(registry: Registry, asked: Registration) -> SchemaVersion | None:
    """The answer if nothing has to be written; any node may give it."""
    if not asked.schema.text.strip():
        return None
    found = find_schema(registry, asked.subject, asked.schema, normalize=asked.normalize)
    if found is None or (asked.id >= 0 and asked.id != found.id):
        return None
    if asked.version > 0 and asked.version != found.version:
        return None
    return found


def register(registry: Registry, asked: Registration) -> Decision:
    """Give the schema an id and a version, or say what speaks against it."""
    check_register_mode(registry, asked.subject, asked.id)
    existing = find_registered(registry, asked)
    if existing is not None:
        return Decision([], existing)
    subject = asked.subject
    imports = registry.mode_of(subject) == IMPORT
    versions = registry.state.versions(subject, deleted=True)
    schema = _completed(registry, asked, imports=imports)
    if not imports and not asked.force:
        _check_compatibility(registry, subject, schema)
    number = versions[-1].version + 1 if versions else 1
    if asked.version > 0:
        if asked.version != number and not imports:
            raise InvalidSchemaError("Version is not one more than previous version")
        number = asked.version
    id_ = _pick_id(registry, subject, schema, asked.id)
    new = SchemaVersion(subject, number, id_, schema, schema.guid)
    return Decision([*_beside(registry, new, versions), schema_record(new)], new)


def check_register_mode(registry: Registry, subject: str, id_: int = -1) -> None:
    mode = registry.mode_of(subject)
    where = f"Subject {subject} in context {context_of(subject)}"
    if mode in (READONLY, READONLY_OVERRIDE):
        raise not_permitted(f"{where} is in read-only mode")
    if id_ >= 0 and mode != IMPORT:
        raise not_permitted(f"{where} is not in import mode")
    if id_ < 0 and mode != READWRITE:
        raise not_permitted(f"{where} is not in read-write mode")


def compatibility_messages(
    registry: Registry, subject: str, schema: Schema, previous: Sequence[SchemaVersion]
) -> list[str]:
    """What breaks between a schema and earlier versions at the level that holds."""
    config = registry.config_of(subject)
    level = config["compatibilityLevel"]
    group = config.get("compatibilityGroup")
    if group is not None:
        wanted = _property(schema, group)
        previous = [one for one in previous if _property(one.schema, group) == wanted]
    messages = check_level(
        level,
        registry.parser.parse(subject, schema),
        schema.type,
        previous,
        registry.parsed,
        lenient=config.get("compatibilityPolicy") == "LENIENT",
    )
    if messages:
        validates = str(config.get("validateFields") is True).lower()
        messages.append(f"{{validateFields: '{validates}', compatibility: '{level}'}}")
    return messages


def _completed(registry: Registry, asked: Registration, *, imports: bool) -> Schema:
    schema = asked.schema
    if not schema.text.strip() and not imports:
        latest = registry.state.versions(asked.subject)
        if not latest:
            raise InvalidSchemaError("Empty schema")
        known = latest[-1].schema
        schema = Schema(known.text, known.type, known.references, schema.metadata, schema.rule_set)
    if not imports:
        schema = with_inherited(registry, asked.subject, schema)
    is_new = asked.id < 0 and registry.config.schema_validate_new_schemas
    return canonical_schema(
        registry, asked.subject, schema, normalize=asked.normalize, is_new=is_new
    )


def _check_compatibility(registry: Registry, subject: str, schema: Schema) -> None:
    previous = registry.state.versions(subject)
    messages = compatibility_messages(registry, subject, schema, previous)
    if messages:
        raise incompatible(subject, messages)


def _pick_id(registry: Registry, subject: str, schema: Schema, asked: int) -> int:
    """The id the schema has in its context already, the one asked for, or a new one."""
    context = context_of(subject)
    index = registry.state.context(context)
    known = index.id_of_guid.get(schema.guid)
    if asked >= 0:
        for other in registry.state.with_id(context, asked):
            if other.schema.text != schema.text or other.schema.type != schema.type:
                raise not_permitted(
                    f"Overwrite new schema with id {asked} in context {context} is not permitted."
                )
        return asked
    if known is not None:
        return known
    if index.highest_id >= _ID_MAX:
        raise id_does_not_match(f"Context {context} has no ids left")
    return index.highest_id + 1


def _beside(registry: Registry, new: SchemaVersion, versions: list[SchemaVersion]) -> list[Record]:
    """The context's own record, and an end for deleted versions that the new one replaces."""
    extra = []
    context = context_of(new.subject)
    if context not in (DEFAULT_CONTEXT, *registry.state.named_contexts):
        extra.append(context_record(context))
    for old in versions:
        place = (old.subject, old.version)
        is_replaced = old.deleted and old.id == new.id and old.version < new.version
        if is_replaced and not registry.state.referrers.get(place):
            extra.append(schema_tombstone(*place))
    return extra


def _property(schema: Schema, name: str) -> str | None:
    properties = (schema.metadata or {}).get("properties") or {}
    value = properties.get(name)
    return None if value is None else str(value)
