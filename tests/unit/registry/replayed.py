"""A registry's core without a topic: records are applied as soon as they are decided."""

from __future__ import annotations

import itertools
import json
from typing import Any

from headrace.registry.core.deleting import delete_subject, delete_version
from headrace.registry.core.records import Record
from headrace.registry.core.registering import Registration, register
from headrace.registry.core.registry import Decision, Registry
from headrace.registry.core.schema import AVRO, Reference, Schema, SchemaVersion
from headrace.registry.core.setting_changes import set_config, set_mode
from headrace.registry.core.state import RegistryState


class Replayed:
    """Commands in short; `log` is what the topic would hold."""

    def __init__(self) -> None:
        self.core = Registry()
        self.log: list[Record] = []
        self._times = itertools.count(1)

    def run(self, decision: Decision) -> Any:
        for record in decision.records:
            self.log.append(record)
            self.core.state.apply(record.key, record.value, next(self._times))
        return decision.reply

    def register(
        self,
        subject: str,
        text: str,
        type_: str = AVRO,
        references: tuple[Reference, ...] = (),
        **named: Any,
    ) -> SchemaVersion:
        fields = {key: named.pop(key) for key in ("metadata", "rule_set") if key in named}
        schema = Schema(text, type_, references, **fields)
        reply: SchemaVersion = self.run(register(self.core, Registration(subject, schema, **named)))
        return reply

    def delete(self, subject: str, version: int | None = None, *, permanent: bool = False) -> Any:
        if version is None:
            return self.run(delete_subject(self.core, subject, permanent=permanent))
        return self.run(delete_version(self.core, subject, version, permanent=permanent))

    def config(self, subject: str | None, **fields: Any) -> Any:
        return self.run(set_config(self.core, subject, fields))

    def mode(self, subject: str | None, mode: str, *, force: bool = False) -> Any:
        return self.run(set_mode(self.core, subject, {"mode": mode}, force=force))

    def compacted(self) -> RegistryState:
        """What a registry knows that starts after compaction took all it may take."""
        latest = {record.key: record for record in self.log}
        state = RegistryState()
        for record in self.log:
            if latest[record.key] is record and record.value is not None:
                state.apply(record.key, record.value, 1)
        return state


def record_schema(*fields: str, name: str = "R") -> str:
    """A record whose fields are strings; one with a question mark may be null."""
    rows = [
        {"name": field.rstrip("?"), "type": ["null", "string"], "default": None}
        if field.endswith("?")
        else {"name": field, "type": "string"}
        for field in fields
    ]
    return json.dumps({"type": "record", "name": name, "fields": rows})
