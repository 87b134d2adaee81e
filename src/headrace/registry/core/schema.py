"""A schema as clients hand it in, and what makes two of them the same."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

AVRO, JSON, PROTOBUF = "AVRO", "JSON", "PROTOBUF"
TYPES = (JSON, PROTOBUF, AVRO)

_RULE_TEXTS = ("name", "doc", "kind", "mode", "type")
_RULE_ENDINGS = ("expr", "onSuccess", "onFailure")


class Reference(NamedTuple):
    """A schema that another one needs, under the name it is needed by."""

    name: str
    subject: str
    version: int


@dataclass(frozen=True, slots=True)
class Schema:
    """A text with its type and everything that belongs to its identity."""

    text: str
    type: str = AVRO
    references: tuple[Reference, ...] = ()
    metadata: Mapping[str, Any] | None = None
    rule_set: Mapping[str, Any] | None = None

    @property
    def guid(self) -> str:
        """The same for equal schemas in every registry: their MD5, written as a UUID.

        Other registries fill the same fields in the same order, so a guid in a record's header
        means the same schema everywhere.
        """
        digest = hashlib.md5(self.text.encode(), usedforsecurity=False)
        for reference in self.references:
            digest.update(reference.name.encode() + reference.subject.encode())
            digest.update((reference.version & 0xFFFFFFFF).to_bytes(4, "big"))
        if self.metadata is not None:
            digest.update(b"\x01" + _joined(_metadata_texts(self.metadata)))
        if self.rule_set is not None:
            digest.update(b"\x01" + _joined(_rule_set_texts(self.rule_set)))
        return str(uuid.UUID(bytes=digest.digest()))


@dataclass(frozen=True, slots=True)
class SchemaVersion:
    """A schema in its place: a version of a subject, with the id that records carry."""

    subject: str
    version: int
    id: int
    schema: Schema
    guid: str
    deleted: bool = False
    #: The time of its record, milliseconds since the epoch.
    timestamp: int = 0


def _joined(texts: Iterable[str]) -> bytes:
    return "".join(texts).encode()


def _metadata_texts(metadata: Mapping[str, Any]) -> Iterable[str]:
    for name, tags in sorted((metadata.get("tags") or {}).items()):
        yield name
        yield from sorted(map(str, tags or ()))
    for name, value in sorted((metadata.get("properties") or {}).items()):
        yield name + str(value)
    yield from sorted(map(str, metadata.get("sensitive") or ()))


def _rule_set_texts(rule_set: Mapping[str, Any]) -> Iterable[str]:
    for kind in ("migrationRules", "domainRules", "encodingRules"):
        for rule in rule_set.get(kind) or ():
            yield from _rule_texts(rule)
    if rule_set.get("enableAt") is not None:
        yield str(rule_set["enableAt"])


def _rule_texts(rule: Mapping[str, Any]) -> Iterable[str]:
    yield from (str(rule[name]) for name in _RULE_TEXTS if rule.get(name) is not None)
    yield from sorted(map(str, rule.get("tags") or ()))
    for name, value in sorted((rule.get("params") or {}).items()):
        yield name + str(value)
    yield from (str(rule[name]) for name in _RULE_ENDINGS if rule.get(name) is not None)
    if rule.get("disabled"):
        yield "\x01"
