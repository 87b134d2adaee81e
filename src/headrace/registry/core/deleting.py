"""Deleting subjects and versions: first softly, then for good."""

from __future__ import annotations

from dataclasses import replace

from headrace.registry.core.records import (
    Record,
    config_record,
    context_tombstone,
    delete_subject_record,
    mode_record,
    noop_record,
    schema_record,
    schema_tombstone,
)
from headrace.registry.core.registry import Decision, Registry
from headrace.registry.core.settings import READONLY, READONLY_OVERRIDE
from headrace.registry.core.subjects import context_of
from headrace.registry.errors import (
    RegistryError,
    context_not_empty,
    not_permitted,
    reference_exists,
    subject_not_found,
    subject_not_soft_deleted,
    subject_soft_deleted,
    version_not_found,
    version_not_soft_deleted,
    version_soft_deleted,
)

LATEST = -1


def delete_subject(registry: Registry, subject: str, *, permanent: bool) -> Decision:
    """All versions of a subject; the reply are their numbers."""
    check_writable(registry, subject)
    state = registry.state
    known = state.versions(subject, deleted=True)
    if not known:
        raise subject_not_found(subject)
    versions = known if permanent else state.versions(subject)
    if not versions:
        raise subject_soft_deleted(subject)
    for one in versions:
        _check_unreferenced(registry, subject, one.version, but=subject, permanent=permanent)
    if not permanent:
        records = [delete_subject_record(subject, versions[-1].version)]
    else:
        if any(not one.deleted for one in versions):
            raise subject_not_soft_deleted(subject)
        records = [schema_tombstone(subject, one.version) for one in reversed(versions)]
        records = [noop_record(state.highest_ids()), *records, *_settings(registry, subject)]
    return Decision(records, [one.version for one in versions])


def delete_version(registry: Registry, subject: str, version: int, *, permanent: bool) -> Decision:
    """One version; the reply is its number."""
    state = registry.state
    known = state.versions(subject, deleted=True)
    if not known:
        raise subject_not_found(subject)
    if version == LATEST:
        living = state.versions(subject) or (known if permanent else [])
        if not living:
            raise version_not_found(version)
        version = living[-1].version
    found = state.version(subject, version)
    if found is None:
        raise version_not_found(version)
    if found.deleted and not permanent:
        raise version_soft_deleted(subject, version)
    check_writable(registry, subject)
    _check_unreferenced(registry, subject, version, permanent=permanent)
    if not permanent:
        return Decision([schema_record(replace(found, deleted=True))], version)
    if not found.deleted:
        raise version_not_soft_deleted(subject, version)
    records = [noop_record(state.highest_ids()), schema_tombstone(subject, version)]
    if len(known) == 1:
        records += _settings(registry, subject)
    return Decision(records, version)


def delete_context(registry: Registry, context: str) -> Decision:
    """A context that nothing stands in any more."""
    if any(context_of(subject) == context for subject in registry.state.subjects):
        raise context_not_empty(context)
    if context not in registry.state.named_contexts:
        return Decision([], None)
    return Decision([context_tombstone(context)], None)


def check_writable(registry: Registry, subject: str | None) -> None:
    mode = registry.mode_of(subject)
    if mode in (READONLY, READONLY_OVERRIDE):
        context = context_of(subject or "")
        raise not_permitted(f"Subject {subject} in context {context} is in read-only mode")


def _check_unreferenced(
    registry: Registry, subject: str, version: int, *, permanent: bool, but: str | None = None
) -> None:
    for other, number in registry.state.referrers.get((subject, version), ()):
        referrer = registry.state.version(other, number)
        if other == but or referrer is None:
            continue
        if permanent or not referrer.deleted:
            raise _referenced(subject, version)


def _referenced(subject: str, version: int) -> RegistryError:
    return reference_exists(subject, version)


def _settings(registry: Registry, subject: str) -> list[Record]:
    """What is set for a subject goes with its last version."""
    records = []
    if subject in registry.state.modes:
        records.append(mode_record(subject, None))
    if subject in registry.state.configs:
        records.append(config_record(subject, None))
    return records
