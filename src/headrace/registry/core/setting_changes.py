"""Changing compatibility and modes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.registry.core.deleting import check_writable
from headrace.registry.core.records import (
    clear_subject_record,
    config_record,
    mode_record,
    noop_record,
    schema_tombstone,
)
from headrace.registry.core.registry import Decision, Registry
from headrace.registry.core.settings import (
    IMPORT,
    MODES,
    merged_config,
    public_config,
    read_config_update,
)
from headrace.registry.core.subjects import is_context, is_valid
from headrace.registry.errors import (
    RegistryError,
    invalid_mode,
    invalid_subject,
    not_permitted,
    reference_exists,
    subject_not_found,
)


def set_config(registry: Registry, subject: str | None, body: Mapping[str, Any]) -> Decision:
    update = read_config_update(body)
    _check_subject(subject)
    check_writable(registry, subject)
    old = registry.state.configs.get(subject)
    new = merged_config(old, update)
    reply = {("compatibility" if k == "compatibilityLevel" else k): v for k, v in new.items()}
    return Decision([config_record(subject, new)], reply)


def delete_config(registry: Registry, subject: str | None) -> Decision:
    """Back to what holds further up; the reply is what was set."""
    check_writable(registry, subject)
    old = registry.state.configs.get(subject)
    if old is None:
        if subject is not None:
            raise subject_not_found(subject)
        return Decision([], registry.config_of(None))
    return Decision([config_record(subject, None)], public_config(old))


def set_mode(
    registry: Registry, subject: str | None, body: Mapping[str, Any], *, force: bool
) -> Decision:
    """Import mode takes ids from outside, so nothing may stand there before (unless forced)."""
    wanted = body.get("mode")
    mode = None if wanted is None else str(wanted).upper()
    if mode is not None and mode not in MODES:
        raise invalid_mode()
    if mode is None and subject is None:
        raise RegistryError(422, 42204, "Invalid mode. It is missing.")
    _check_subject(subject)
    _check_mutable(registry)
    records = []
    if mode == IMPORT and registry.mode_of(subject) != IMPORT and not force:
        records = _emptied(registry, subject)
    return Decision([*records, mode_record(subject, mode)], {"mode": mode})


def delete_mode(registry: Registry, subject: str | None) -> Decision:
    _check_mutable(registry)
    old = registry.state.modes.get(subject)
    if old is None:
        if subject is not None:
            raise subject_not_found(subject)
        return Decision([], {"mode": registry.mode_of(None)})
    return Decision([mode_record(subject, None)], {"mode": old})


def _emptied(registry: Registry, subject: str | None) -> list[Any]:
    state = registry.state
    names = [name for name in state.subjects if _is_below(name, subject)]
    if any(state.versions(name) for name in names):
        raise not_permitted("Cannot import since found existing subjects")
    records = []
    for name in names:
        for one in state.versions(name, deleted=True):
            if state.referrers.get((name, one.version)):
                raise reference_exists(name, one.version)
            records.append(schema_tombstone(name, one.version))
    return [noop_record(state.highest_ids()), *records, clear_subject_record(subject)]


def _is_below(name: str, subject: str | None) -> bool:
    if subject is None:
        return not name.startswith(":.")
    return name.startswith(subject) if is_context(subject) else name == subject


def _check_subject(subject: str | None) -> None:
    if subject is not None and not is_valid(subject, for_settings=True):
        raise invalid_subject(subject)


def _check_mutable(registry: Registry) -> None:
    if not registry.config.mode_mutability:
        raise not_permitted("Mode changes are not allowed")
