"""Versions as they are answered; what is empty is left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from headrace.registry.core.languages import formatted
from headrace.registry.core.registry import Registry, without_empty
from headrace.registry.core.schema import AVRO, SchemaVersion
from headrace.registry.core.subjects import beside


def version_fields(registry: Registry, version: SchemaVersion, form: str = "") -> dict[str, Any]:
    """A version as it is answered; what is empty is left out."""
    schema = version.schema
    return without_empty(
        {
            "subject": version.subject,
            "version": version.version,
            "id": version.id,
            "guid": version.guid,
            "schemaType": "" if schema.type == AVRO else schema.type,
            "references": [one._asdict() for one in schema.references],
            "metadata": schema.metadata,
            "ruleSet": schema.rule_set,
            "schema": text_in_form(registry, version, form),
            "ts": version.timestamp,
            "deleted": True if version.deleted else None,
        }
    )


def text_in_form(registry: Registry, version: SchemaVersion, form: str) -> str:
    return formatted(registry.parsed(version), form) if form else version.schema.text


def qualified_references(version: SchemaVersion) -> list[dict[str, Any]]:
    return [
        {**one._asdict(), "subject": beside(version.subject, one.subject)}
        for one in version.schema.references
    ]


def pairs(rows: Iterable[SchemaVersion]) -> Iterator[dict[str, Any]]:
    return ({"subject": one.subject, "version": one.version} for one in rows)
