"""What stands in the bodies and paths of requests; unknown fields are nobody's business."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.registry.core.rules import check_metadata, check_rule_set
from headrace.registry.core.schema import AVRO, Reference, Schema
from headrace.registry.core.subjects import normal
from headrace.registry.errors import RegistryError, invalid_version
from headrace.web.messages import HttpError, Request

LATEST = -1
_VERSION_MAX = (1 << 31) - 1


async def read_object(request: Request) -> dict[str, Any]:
    body = await request.json()
    if not isinstance(body, dict):
        raise HttpError(400, "The body is no JSON object")
    return body


def read_schema(body: Mapping[str, Any], *, needed: bool = True) -> Schema:
    """The schema of a request: the text, its type, references, metadata and rules."""
    text = body.get("schema")
    if text is None and not needed:
        text = ""
    if not isinstance(text, str) or (needed and not text.strip()):
        raise RegistryError(422, 42201, "Empty schema")
    type_ = body.get("schemaType")
    if type_ is not None and not isinstance(type_, str):
        raise RegistryError(422, 42201, f"Invalid schema type {type_!r:.60}")
    return Schema(
        text,
        (type_ or AVRO).upper(),
        tuple(_references(body.get("references"))),
        check_metadata(body.get("metadata")),
        check_rule_set(body.get("ruleSet")),
    )


def read_whole(body: Mapping[str, Any], name: str, default: int) -> int:
    value = body.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or not -1 <= value <= _VERSION_MAX:
        raise RegistryError(422, 422, f"The field {name} is no id or version")
    return value


def read_version(text: str) -> int:
    """A version's number, `LATEST` for `latest`."""
    bare = text.strip().lower()
    if bare in ("latest", "-1"):
        return LATEST
    if not bare.isascii() or not bare.isdecimal() or not 0 < int(bare[:11]) <= _VERSION_MAX:
        raise invalid_version(text)
    return int(bare)


def read_id(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or int(text[:11]) > _VERSION_MAX:
        raise HttpError(404, "HTTP 404 Not Found")
    return int(text)


def subject_of(request: Request) -> str:
    return normal(request.params["subject"])


def _references(rows: Any) -> list[Reference]:
    if rows is None:
        return []
    if not isinstance(rows, list):
        raise RegistryError(422, 42201, "The references are no list")
    found = []
    for row in rows:
        if not isinstance(row, dict):
            raise RegistryError(422, 42201, "A reference is no object")
        name, subject, version = row.get("name"), row.get("subject"), row.get("version")
        if not isinstance(name, str) or not isinstance(subject, str):
            raise RegistryError(422, 42201, "A reference has no name or no subject")
        if isinstance(version, bool) or not isinstance(version, int):
            raise RegistryError(422, 42201, f"The reference {name} has no version")
        found.append(Reference(name, subject, version))
    return found
