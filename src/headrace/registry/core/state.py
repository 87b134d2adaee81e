"""Everything the registry knows: the schemas topic, replayed. Only `apply` changes it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from headrace.registry.core import records
from headrace.registry.core.records import BadRecordError, Key, read_key, read_schema, read_value
from headrace.registry.core.schema import SchemaVersion
from headrace.registry.core.subjects import beside, context_of

logger = logging.getLogger(__name__)

Place = tuple[str, int]


@dataclass(slots=True)
class ContextIndex:
    """The ids of one context; each context numbers its schemas by itself."""

    #: The versions that carry an id, by subject.
    by_id: dict[int, dict[str, int]] = field(default_factory=dict)
    id_of_guid: dict[str, int] = field(default_factory=dict)
    highest_id: int = 0


class RegistryState:
    """Subjects, settings and the indexes over them."""

    def __init__(self) -> None:
        self.subjects: dict[str, dict[int, SchemaVersion]] = {}
        self.contexts: dict[str, ContextIndex] = {}
        #: Contexts that were made known besides the default one.
        self.named_contexts: set[str] = set()
        self.configs: dict[str | None, dict[str, Any]] = {}
        self.modes: dict[str | None, str] = {}
        #: Who refers to a version.
        self.referrers: dict[Place, set[Place]] = {}
        #: Rises with every change, for whoever keeps things derived from the state.
        self.revision = 0

    # ---------------------------------------------------------------- looking

    def version(self, subject: str, version: int) -> SchemaVersion | None:
        return self.subjects.get(subject, {}).get(version)

    def versions(self, subject: str, *, deleted: bool = False) -> list[SchemaVersion]:
        """The versions of a subject, oldest first."""
        found = self.subjects.get(subject, {})
        return [found[number] for number in sorted(found) if deleted or not found[number].deleted]

    def context(self, context: str) -> ContextIndex:
        """For looking only: a context that nothing was stored in is empty."""
        return self.contexts.get(context) or ContextIndex()

    def with_id(self, context: str, id_: int) -> Iterator[SchemaVersion]:
        """The versions that carry an id in a context, deleted ones too."""
        for subject, version in self.context(context).by_id.get(id_, {}).items():
            found = self.version(subject, version)
            if found is not None:
                yield found

    def highest_ids(self) -> dict[str, int]:
        return {name: one.highest_id for name, one in self.contexts.items() if one.highest_id}

    # ---------------------------------------------------------------- changing

    def apply(self, key_bytes: bytes | None, value_bytes: bytes | None, timestamp: int) -> None:
        """Replay one record. What is not of the registry's format is logged and left alone."""
        try:
            key = read_key(key_bytes)
            value = read_value(value_bytes)
            self._apply(key, value, timestamp)
        except BadRecordError as error:
            logger.warning("a record of the schemas topic was passed over: %s", error)
        self.revision += 1

    def _apply(self, key: Key, value: dict[str, Any] | None, timestamp: int) -> None:
        match key.type:
            case records.SCHEMA:
                self._apply_schema(key, value, timestamp)
            case records.CONFIG:
                _put(self.configs, key.subject, value)
            case records.MODE:
                _put(self.modes, key.subject, None if value is None else value.get("mode"))
            case records.DELETE_SUBJECT if value is not None and key.subject is not None:
                self._delete_up_to(key.subject, int(value.get("version") or 0))
            case records.CLEAR_SUBJECT:
                self._clear(key.subject)
            case records.CONTEXT if key.context is not None:
                if value is None:
                    self.named_contexts.discard(key.context)
                else:
                    self.named_contexts.add(key.context)
            case records.NOOP if value is not None:
                self._raise_ids(value.get("highestIds"))

    def _apply_schema(self, key: Key, value: dict[str, Any] | None, timestamp: int) -> None:
        if key.subject is None or key.version is None:
            raise BadRecordError("a schema's key without subject or version")
        if value is None:
            self._remove(key.subject, key.version)
            return
        new = read_schema(key, value, timestamp)
        index = self.contexts.setdefault(context_of(new.subject), ContextIndex())
        index.highest_id = max(index.highest_id, new.id)
        for other in self.with_id(context_of(new.subject), new.id):
            if other.schema.text != new.schema.text:
                # Two registries took themselves for the leader: the first one's word holds.
                logger.error("id %d is taken already; %s is not registered", new.id, new.subject)
                return
        self._remove(key.subject, key.version)
        self.subjects.setdefault(new.subject, {})[new.version] = new
        holders = index.by_id.setdefault(new.id, {})
        holders[new.subject] = max(new.version, holders.get(new.subject, 0))
        index.id_of_guid[new.guid] = new.id
        for place in _referred(new):
            self.referrers.setdefault(place, set()).add((new.subject, new.version))

    def _remove(self, subject: str, version: int) -> None:
        old = self.subjects.get(subject, {}).pop(version, None)
        if old is None:
            return
        if not self.subjects[subject]:
            del self.subjects[subject]
        index = self.contexts[context_of(subject)]
        holders = index.by_id.get(old.id, {})
        others = [one.version for one in self.versions(subject, deleted=True) if one.id == old.id]
        if others:
            holders[subject] = others[-1]
        else:
            holders.pop(subject, None)
        if not holders:
            index.by_id.pop(old.id, None)
            if index.id_of_guid.get(old.guid) == old.id:
                del index.id_of_guid[old.guid]
        for place in _referred(old):
            self.referrers.get(place, set()).discard((subject, version))

    def _delete_up_to(self, subject: str, last: int) -> None:
        versions = self.subjects.get(subject, {})
        for number, one in versions.items():
            if number <= last and not one.deleted:
                versions[number] = replace(one, deleted=True)

    def _clear(self, subject: str | None) -> None:
        """Forget what is soft-deleted under a subject, or in a whole context."""
        for name in list(self.subjects):
            if not subject or name == subject or name.startswith(subject):
                for one in self.versions(name, deleted=True):
                    if one.deleted:
                        self._remove(name, one.version)

    def _raise_ids(self, highest: Any) -> None:
        for context, id_ in highest.items() if isinstance(highest, dict) else ():
            if isinstance(id_, int):
                index = self.contexts.setdefault(context, ContextIndex())
                index.highest_id = max(index.highest_id, id_)


def _put(table: dict[str | None, Any], subject: str | None, value: Any) -> None:
    if value is None:
        table.pop(subject, None)
    else:
        table[subject] = value


def _referred(version: SchemaVersion) -> list[Place]:
    return [
        (beside(version.subject, one.subject), one.version) for one in version.schema.references
    ]
