"""Finding a schema again: under a subject, whatever layout its text has."""

from __future__ import annotations

from dataclasses import replace

from headrace.registry.core.registry import Registry
from headrace.registry.core.schema import Schema, SchemaVersion
from headrace.registry.core.subjects import context_of


def canonical_schema(
    registry: Registry, subject: str, schema: Schema, *, normalize: bool, is_new: bool = False
) -> Schema:
    """The schema with the text it is stored with; `InvalidSchemaError` if it is none."""
    schema = registry.parser.with_fixed_references(subject, schema)

    def make() -> Schema:
        parsed = registry.parser.parse(subject, schema, is_new=is_new)
        return replace(schema, text=parsed.normalized() if normalize else parsed.canonical())

    if schema.references or schema.metadata or schema.rule_set:
        return make()
    key = (schema.type, schema.text, normalize, is_new)
    return registry.canonical.get(key, make, size=len(schema.text))


def normalizes(registry: Registry, subject: str, asked: bool) -> bool:
    return asked or registry.config_of(subject).get("normalize") is True


def find_schema(
    registry: Registry,
    subject: str,
    schema: Schema,
    *,
    normalize: bool = False,
    deleted: bool = False,
) -> SchemaVersion | None:
    """The version of a subject that is this schema, the newest if there are several."""
    versions = registry.state.subjects.get(subject)
    if not versions:
        # Even so a text that is no schema is told of.
        canonical_schema(registry, subject, schema, normalize=normalize)
        return None
    wanted = canonical_schema(registry, subject, schema, normalize=normalize)
    found = _find_same(registry, subject, wanted, deleted=deleted)
    if found is not None:
        return found
    found = _find_equal(registry, subject, wanted, deleted=deleted)
    if found is not None:
        return found
    inherited = with_inherited(registry, subject, wanted)
    if inherited == wanted:
        return None
    return _find_same(registry, subject, inherited, deleted=deleted)


def with_inherited(registry: Registry, subject: str, schema: Schema) -> Schema:
    """Metadata and rules that the latest version or the configuration lend to a new one."""
    versions = registry.state.versions(subject)
    latest = versions[-1] if versions else None
    config = registry.config_of(subject)
    metadata, rules = schema.metadata, schema.rule_set
    if latest is not None:
        metadata = latest.schema.metadata if metadata is None else metadata
        rules = latest.schema.rule_set if rules is None else rules
    for place, current in (("Metadata", metadata), ("RuleSet", rules)):
        default, override = config.get(f"default{place}"), config.get(f"override{place}")
        if default is None and override is None:
            continue
        merged = {**(default or {}), **(current or {}), **(override or {})}
        if place == "Metadata":
            metadata = merged
        else:
            rules = merged
    return replace(schema, metadata=metadata, rule_set=rules)


def _find_same(
    registry: Registry, subject: str, schema: Schema, *, deleted: bool
) -> SchemaVersion | None:
    index = registry.state.contexts.get(context_of(subject))
    id_ = None if index is None else index.id_of_guid.get(schema.guid)
    if index is None or id_ is None:
        return None
    number = index.by_id.get(id_, {}).get(subject)
    found = None if number is None else registry.state.version(subject, number)
    if found is None or (found.deleted and not deleted):
        return None
    return found


def _find_equal(
    registry: Registry, subject: str, schema: Schema, *, deleted: bool
) -> SchemaVersion | None:
    """A version that says the same in other words: with its references written out, say."""
    wanted = ""
    for version in reversed(registry.state.versions(subject, deleted=deleted)):
        known = version.schema
        if known.type != schema.type or not (known.references or schema.references):
            continue
        if (known.metadata, known.rule_set) != (schema.metadata, schema.rule_set):
            continue
        wanted = wanted or registry.parser.parse(subject, schema).resolved()
        if registry.parsed(version).resolved() == wanted:
            return version
    return None
