"""Records of the schemas topic, in the form that Confluent's registry writes and reads.

Keys are compared byte by byte when the topic is compacted, so the order of their fields is part of
the format.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any, NamedTuple
from uuid import UUID

from headrace.registry.core.schema import AVRO, Reference, Schema, SchemaVersion

SCHEMA, CONFIG, MODE, NOOP = "SCHEMA", "CONFIG", "MODE", "NOOP"
DELETE_SUBJECT, CLEAR_SUBJECT, CONTEXT = "DELETE_SUBJECT", "CLEAR_SUBJECT", "CONTEXT"

_TENANT = "default"


class Record(NamedTuple):
    """Key and value as bytes; without a value the key is deleted."""

    key: bytes
    value: bytes | None


class Key(NamedTuple):
    """A key taken apart; what a type of key does not have is None."""

    type: str
    subject: str | None = None
    version: int | None = None
    context: str | None = None


class BadRecordError(ValueError):
    """A record that is not of the registry's format; it is left alone."""


# -------------------------------------------------------------------- writing


def schema_record(version: SchemaVersion) -> Record:
    schema = version.schema
    value: dict[str, Any] = {
        "subject": version.subject,
        "version": version.version,
        "id": version.id,
        "md5": base64.b64encode(UUID(version.guid).bytes).decode(),
    }
    if schema.type != AVRO:
        value["schemaType"] = schema.type
    if schema.references:
        value["references"] = [reference._asdict() for reference in schema.references]
    if schema.metadata is not None:
        value["metadata"] = schema.metadata
    if schema.rule_set is not None:
        value["ruleSet"] = schema.rule_set
    value["schema"] = schema.text
    value["deleted"] = version.deleted
    return Record(schema_key(version.subject, version.version), _dump(value))


def schema_tombstone(subject: str, version: int) -> Record:
    return Record(schema_key(subject, version), None)


def schema_key(subject: str, version: int) -> bytes:
    return _dump({"keytype": SCHEMA, "subject": subject, "version": version, "magic": 1})


def config_record(subject: str | None, config: Mapping[str, Any] | None) -> Record:
    value = None if config is None else _with_subject(subject, config)
    return Record(_subject_key(CONFIG, subject), value)


def mode_record(subject: str | None, mode: str | None) -> Record:
    value = None if mode is None else _with_subject(subject, {"mode": mode})
    return Record(_subject_key(MODE, subject), value)


def delete_subject_record(subject: str, last_version: int) -> Record:
    value = _dump({"subject": subject, "version": last_version})
    return Record(_subject_key(DELETE_SUBJECT, subject), value)


def clear_subject_record(subject: str | None) -> Record:
    return Record(_subject_key(CLEAR_SUBJECT, subject), _with_subject(subject, {}))


def context_record(context: str) -> Record:
    key = {"keytype": CONTEXT, "tenant": _TENANT, "context": context, "magic": 0}
    return Record(_dump(key), _dump({"tenant": _TENANT, "context": context}))


def context_tombstone(context: str) -> Record:
    return Record(context_record(context).key, None)


def noop_record(highest_ids: Mapping[str, int]) -> Record:
    """Changes nothing; its value keeps the highest id ever given out in each context.

    Other registries do not read it. Here it is what keeps an id from being given out again after
    its schema was deleted for good and compaction has taken the last trace of it.
    """
    key = _dump({"keytype": NOOP, "magic": 0})
    return Record(key, _dump({"highestIds": dict(highest_ids)}) if highest_ids else None)


# -------------------------------------------------------------------- reading


def read_key(data: bytes | None) -> Key:
    fields = _load(data)
    kind = fields.get("keytype")
    if not isinstance(kind, str):
        raise BadRecordError("a key without keytype")
    subject, version, context = fields.get("subject"), fields.get("version"), fields.get("context")
    if subject is not None and not isinstance(subject, str):
        raise BadRecordError("a subject that is no text")
    if kind == SCHEMA and (not isinstance(version, int) or subject is None):
        raise BadRecordError("a schema's key without subject or version")
    return Key(kind, subject, version, context)


def read_value(data: bytes | None) -> dict[str, Any] | None:
    return None if not data else _load(data)


def read_schema(key: Key, value: Mapping[str, Any], timestamp: int) -> SchemaVersion:
    """A version from its record; fields that are not known here are passed over."""
    try:
        references = tuple(
            Reference(one["name"], one["subject"], int(one["version"]))
            for one in value.get("references") or ()
        )
        schema = Schema(
            str(value["schema"]),
            value.get("schemaType") or AVRO,
            references,
            value.get("metadata"),
            value.get("ruleSet"),
        )
        id_ = int(value["id"])
        md5 = value.get("md5")
        guid = schema.guid if not md5 else str(UUID(bytes=base64.b64decode(md5)))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BadRecordError(f"a schema that lacks or garbles {error}") from error
    if key.subject is None or key.version is None:
        raise BadRecordError("a schema's key without subject or version")
    deleted = bool(value.get("deleted"))
    return SchemaVersion(key.subject, key.version, id_, schema, guid, deleted, timestamp)


def _subject_key(kind: str, subject: str | None) -> bytes:
    named = {} if subject is None else {"subject": subject}
    return _dump({"keytype": kind, **named, "magic": 0})


def _with_subject(subject: str | None, fields: Mapping[str, Any]) -> bytes:
    named = {} if subject is None else {"subject": subject}
    return _dump({**named, **fields})


def _dump(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _load(data: bytes | None) -> dict[str, Any]:
    try:
        value = json.loads(data or b"")
    except (ValueError, RecursionError) as error:
        raise BadRecordError("no JSON") from error
    if not isinstance(value, dict):
        raise BadRecordError("no JSON object")
    return value
