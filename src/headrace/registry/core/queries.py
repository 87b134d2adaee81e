"""Questions that are answered from the state alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from headrace.registry.core.lookup import find_schema
from headrace.registry.core.registering import compatibility_messages
from headrace.registry.core.registry import Registry
from headrace.registry.core.schema import Schema, SchemaVersion
from headrace.registry.core.subjects import (
    ANY_CONTEXT,
    DEFAULT_CONTEXT,
    context_of,
    parse_subject,
)
from headrace.registry.errors import (
    InvalidSchemaError,
    schema_not_found,
    subject_not_found,
    version_not_found,
)

T = TypeVar("T")
LATEST = -1


@dataclass(frozen=True, slots=True)
class Page:
    """Which part of a list is wanted; a negative limit means all of it."""

    offset: int = 0
    limit: int = -1

    def of(self, rows: Sequence[T]) -> list[T]:
        start = max(self.offset, 0)
        return list(rows[start:] if self.limit < 0 else rows[start : start + self.limit])


# -------------------------------------------------------------------- by subject


def subjects(
    registry: Registry, prefix: str = ANY_CONTEXT, *, deleted: bool, deleted_only: bool
) -> list[str]:
    """The names of subjects, sorted."""
    found = []
    for name, versions in registry.state.subjects.items():
        is_deleted = all(one.deleted for one in versions.values())
        if (deleted_only and not is_deleted) or (is_deleted and not (deleted or deleted_only)):
            continue
        if matches(name, prefix):
            found.append(name)
    return sorted(found)


def matches(subject: str, prefix: str) -> bool:
    """Whether a subject begins so; without a context only the default one's do."""
    if prefix.startswith(ANY_CONTEXT):
        return parse_subject(subject).name.startswith(prefix[len(ANY_CONTEXT) :])
    if prefix.startswith(":."):
        return subject.startswith(prefix)
    return context_of(subject) == DEFAULT_CONTEXT and subject.startswith(prefix)


def versions(registry: Registry, subject: str, *, deleted: bool, deleted_only: bool) -> list[int]:
    known = registry.state.versions(subject, deleted=True)
    found = [
        one.version
        for one in known
        if (one.deleted if deleted_only else deleted or not one.deleted)
    ]
    if not found:
        raise subject_not_found(subject)
    return found


def get_version(
    registry: Registry, subject: str, version: int, *, deleted: bool = False
) -> SchemaVersion:
    """A version, or the latest; a bare subject is looked for in other contexts too."""
    for name in (subject, *registry.others(subject)):
        found = _get(registry, name, version, deleted=deleted)
        if found is not None:
            return found
    if not registry.state.versions(subject, deleted=deleted):
        raise subject_not_found(subject)
    raise version_not_found(version)


def _get(registry: Registry, subject: str, version: int, *, deleted: bool) -> SchemaVersion | None:
    if version == LATEST:
        living = registry.state.versions(subject, deleted=deleted)
        return living[-1] if living else None
    found = registry.state.version(subject, version)
    return None if found is None or (found.deleted and not deleted) else found


def look_up(
    registry: Registry, subject: str, schema: Schema, *, normalize: bool, deleted: bool
) -> SchemaVersion:
    for name in (subject, *registry.others(subject)):
        try:
            found = find_schema(registry, name, schema, normalize=normalize, deleted=deleted)
        except InvalidSchemaError:
            if name == subject:
                raise
            continue
        if found is not None:
            return found
    if not registry.state.versions(subject, deleted=deleted):
        raise subject_not_found(subject)
    raise schema_not_found()


def latest_with_metadata(
    registry: Registry, subject: str, wanted: Mapping[str, str], *, deleted: bool
) -> SchemaVersion:
    known = registry.state.versions(subject, deleted=deleted)
    if not known:
        raise subject_not_found(subject)
    for one in reversed(known):
        properties = (one.schema.metadata or {}).get("properties") or {}
        if wanted.items() <= properties.items():
            return one
    raise schema_not_found()


def referenced_by(registry: Registry, subject: str, version: int, *, deleted: bool) -> list[int]:
    """The ids of the schemas that refer to a version."""
    place = get_version(registry, subject, version, deleted=True)
    found = set()
    for name, number in registry.state.referrers.get((place.subject, place.version), ()):
        one = registry.state.version(name, number)
        if one is not None and (deleted or not one.deleted):
            found.add(one.id)
    return sorted(found)


def compatibility(
    registry: Registry, subject: str, schema: Schema, version: int | None
) -> list[str]:
    """What breaks between a schema and one version, or those that the level looks at."""
    if version is None:
        previous = registry.state.versions(subject)
    elif version == LATEST:
        previous = registry.state.versions(subject)[-1:]
    else:
        previous = [get_version(registry, subject, version)]
    registry.parser.parse(subject, schema, is_new=True)
    return compatibility_messages(registry, subject, schema, previous)


# -------------------------------------------------------------------- by id


def find_id(registry: Registry, id_: int, subject: str = "") -> SchemaVersion:
    """A version that carries an id: in the subject's context, or else in any that has it."""
    for name in (subject, *registry.others(subject)):
        here = list(registry.state.with_id(context_of(name), id_))
        bare = parse_subject(name).name
        for one in here:
            if not bare or one.subject == name:
                return one
    for one in registry.state.with_id(context_of(subject), id_):
        return one
    raise schema_not_found(id_)


def versions_of_id(
    registry: Registry, id_: int, subject: str, *, deleted: bool
) -> list[SchemaVersion]:
    context = context_of(find_id(registry, id_, subject).subject)
    found = [
        version
        for name in registry.state.context(context).by_id.get(id_, {})
        for version in registry.state.versions(name, deleted=deleted)
        if version.id == id_
    ]
    return sorted(found, key=lambda one: (one.subject, one.version))


def find_guid(registry: Registry, guid: str) -> list[SchemaVersion]:
    """One version in each context that has the schema."""
    found = []
    for name, index in sorted(registry.state.contexts.items()):
        id_ = index.id_of_guid.get(guid.lower())
        if id_ is not None:
            found += list(registry.state.with_id(name, id_))[:1]
    if not found:
        raise schema_not_found(guid)
    return found


def schemas(
    registry: Registry, prefix: str, *, deleted: bool, latest_only: bool
) -> list[SchemaVersion]:
    found: list[SchemaVersion] = []
    for name in sorted(registry.state.subjects):
        if matches(name, prefix):
            known = registry.state.versions(name, deleted=deleted)
            found += known[-1:] if latest_only else known
    return found
