"""Where the schema registry is: from arguments, else from the session's configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.serde.errors import SerdeError

#: `spark.headrace.schema.registry.url`, and below it Confluent's names for credentials and TLS.
PREFIX = "spark.headrace.schema.registry."

Settings = tuple[tuple[str, str], ...]


def registry_settings(
    spark: Any, url: str | None = None, options: Mapping[str, str] | None = None
) -> Settings:
    """Confluent's settings by name; an argument goes before the session's configuration."""
    found = {
        f"schema.registry.{name.removeprefix(PREFIX)}": value
        for name, value in spark.conf.getAll.items()
        if name.startswith(PREFIX)
    }
    for name, value in (options or {}).items():
        found[f"schema.registry.{name.removeprefix('schema.registry.')}"] = str(value)
    if url is not None:
        found["schema.registry.url"] = url
    if not found.get("schema.registry.url"):
        raise SerdeError(
            "There is no schema registry: give url=..., or set spark.headrace.schema.registry.url."
        )
    return tuple(sorted(found.items()))


def subject_of(topic: str | None, subject: str | None, is_key: bool) -> str:
    """A subject by its own name, or that of a topic's keys or values."""
    if (topic is None) == (subject is None):
        raise SerdeError("Give topic=... or subject=..., one of them.")
    if subject is not None:
        return subject
    return f"{topic}-key" if is_key else f"{topic}-value"
