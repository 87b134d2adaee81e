"""Compatibility and mode of a subject: its own, its context's, or everybody's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.registry.core.levels import LEVELS
from headrace.registry.core.rules import check_metadata, check_rule_set
from headrace.registry.core.state import RegistryState
from headrace.registry.core.subjects import (
    DEFAULT_CONTEXT,
    GLOBAL_CONTEXT,
    context_of,
    context_prefix,
    is_context,
)
from headrace.registry.errors import RegistryError, invalid_compatibility

READWRITE, READONLY, READONLY_OVERRIDE = "READWRITE", "READONLY", "READONLY_OVERRIDE"
IMPORT = "IMPORT"
MODES = (READWRITE, READONLY, READONLY_OVERRIDE, IMPORT)

#: Fields of a configuration in the order they are stored in.
_TEXTS = ("alias", "compatibilityPolicy", "compatibilityGroup")
_FLAGS = ("normalize", "validateFields", "validateNewSchemas", "validateRules")
_ORDER = (
    *("alias", "aliasForDeks", *_FLAGS, "compatibilityLevel", "compatibilityPolicy"),
    *("compatibilityGroup", "defaultMetadata", "overrideMetadata", "defaultRuleSet"),
    "overrideRuleSet",
)
_POLICIES = ("STRICT", "LENIENT")


def scopes(subject: str | None) -> list[str | None]:
    """Where settings for a subject may stand, the nearest first."""
    everywhere = context_prefix(GLOBAL_CONTEXT)
    if subject is None:
        return [None, everywhere]
    context = context_of(subject)
    above: list[str | None] = [None if context == DEFAULT_CONTEXT else context_prefix(context)]
    return list(dict.fromkeys([subject, *above, everywhere]))


def config_in_scope(state: RegistryState, subject: str | None, default: str) -> dict[str, Any]:
    """The configuration that holds for a subject, what it lacks taken from further up."""
    found: dict[str, Any] = {"compatibilityLevel": default}
    for scope in reversed(scopes(subject)):
        found |= state.configs.get(scope, {})
    return public_config(found)


def mode_in_scope(state: RegistryState, subject: str | None, default: str = READWRITE) -> str:
    everybody = state.modes.get(None)
    if everybody == READONLY_OVERRIDE:
        return everybody
    for scope in scopes(subject):
        mode = state.modes.get(scope)
        if mode is not None:
            return mode
    return default


def public_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """Without the name it is stored under, and without what an older registry cannot know."""
    return {name: config[name] for name in _ORDER if config.get(name) is not None}


def read_config_update(body: Mapping[str, Any]) -> dict[str, Any]:
    """What a request wants to set; a field that is null is to be removed."""
    update: dict[str, Any] = {}
    if "compatibility" in body:
        level = body["compatibility"]
        if level is not None and str(level).upper() not in LEVELS:
            raise invalid_compatibility()
        update["compatibilityLevel"] = None if level is None else str(level).upper()
    for name in _FLAGS:
        if name in body:
            update[name] = _checked(name, body[name], bool)
    for name in _TEXTS:
        if name in body:
            update[name] = _checked(name, body[name], str)
    policy = update.get("compatibilityPolicy")
    if policy is not None and policy.upper() not in _POLICIES:
        raise invalid_compatibility()
    for name in ("defaultMetadata", "overrideMetadata"):
        if name in body:
            update[name] = check_metadata(body[name])
    for name in ("defaultRuleSet", "overrideRuleSet"):
        if name in body:
            update[name] = check_rule_set(body[name])
    return update


def merged_config(old: Mapping[str, Any] | None, update: Mapping[str, Any]) -> dict[str, Any]:
    return public_config({**(old or {}), **update})


def setting_key(subject: str | None) -> str | None:
    """Under which key settings are stored; the default context's are everybody's."""
    return None if subject is None or (is_context(subject) and subject == "") else subject


def _checked(name: str, value: Any, kind: type) -> Any:
    if value is not None and not isinstance(value, kind):
        raise RegistryError(422, 422, f"The field {name} is not of the form it has to be")
    return value
