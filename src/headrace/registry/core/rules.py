"""Metadata and rule sets of a schema: stored and returned, checked for their form only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.registry.errors import RegistryError, invalid_rule_set

_NAME_LENGTH_MAX = 64
#: Modes that the rules of each list may have.
_MODES = {
    "migrationRules": ("UPGRADE", "DOWNGRADE", "UPDOWN"),
    "domainRules": ("WRITE", "READ", "WRITEREAD"),
    "encodingRules": ("WRITE", "READ", "WRITEREAD"),
}
_KINDS = ("CONDITION", "TRANSFORM")
_BOTH_WAYS = ("WRITEREAD", "UPDOWN")


def check_metadata(metadata: Any) -> Mapping[str, Any] | None:
    """Metadata as it may be stored; what is not of its form is a bad request."""
    if metadata is None:
        return None
    if not isinstance(metadata, dict):
        raise _not_json("metadata")
    tags, properties = metadata.get("tags"), metadata.get("properties")
    if tags is not None and not _is_map_of(tags, list):
        raise _not_json("metadata.tags")
    if properties is not None and not _is_map_of(properties, str):
        raise _not_json("metadata.properties")
    if metadata.get("sensitive") is not None and not _are_texts(metadata["sensitive"]):
        raise _not_json("metadata.sensitive")
    return metadata


def check_rule_set(rule_set: Any) -> Mapping[str, Any] | None:
    """A rule set whose rules have names of their own, a type, and a mode that fits."""
    if rule_set is None:
        return None
    if not isinstance(rule_set, dict):
        raise _not_json("ruleSet")
    names: set[str] = set()
    for place, modes in _MODES.items():
        rules = rule_set.get(place)
        if rules is None:
            continue
        if not isinstance(rules, list) or not all(isinstance(rule, dict) for rule in rules):
            raise _not_json(f"ruleSet.{place}")
        for rule in rules:
            _check_rule(rule, place, modes)
            if rule["name"] in names:
                raise invalid_rule_set(f"Found rule with duplicate name '{rule['name']}'")
            names.add(rule["name"])
    return rule_set


def _check_rule(rule: dict[str, Any], place: str, modes: tuple[str, ...]) -> None:
    name = rule.get("name")
    if not isinstance(name, str) or not name:
        raise invalid_rule_set("A rule has no name")
    if len(name) > _NAME_LENGTH_MAX:
        raise invalid_rule_set(f"The rule name '{name}' is too long")
    letters = name.replace("_", "a").replace("-", "a")
    if (name[0] != "_" and not name[0].isalpha()) or not letters.isalnum():
        raise invalid_rule_set(f"The rule name '{name}' has a character that names cannot have")
    if not isinstance(rule.get("type"), str):
        raise invalid_rule_set(f"Rule '{name}' has no type")
    if rule.get("kind") not in (*_KINDS, None):
        raise invalid_rule_set(f"Rule '{name}' is neither CONDITION nor TRANSFORM")
    mode = rule.get("mode")
    if mode not in modes:
        raise invalid_rule_set(f"Rule '{name}' of {place} can only be {', '.join(modes)}")
    for action in (rule.get("onSuccess"), rule.get("onFailure")):
        if isinstance(action, str) and "," in action and mode not in _BOTH_WAYS:
            raise invalid_rule_set(f"Rule '{name}' can have two actions only in a two-way mode")
    for name_, kind in (("params", dict), ("tags", list)):
        if rule.get(name_) is not None and not isinstance(rule[name_], kind):
            raise _not_json(f"ruleSet.{place}.{name_}")


def _is_map_of(value: Any, kind: type) -> bool:
    return isinstance(value, dict) and all(isinstance(one, kind) for one in value.values())


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _not_json(place: str) -> RegistryError:
    return RegistryError(422, 422, f"The field {place} is not of the form it has to be")
