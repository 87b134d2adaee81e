"""Codecs of the registry's schemas, made once per schema and kept."""

from __future__ import annotations

from threading import Lock

from headrace.serde.codec import Codec, make_codec
from headrace.serde.registry_client import RegistryClient
from headrace.serde.schema import Schema

_CODECS_MAX = 1000


class Codecs:
    """What is kept is found without a lock; a codec that two threads make at once is made twice."""

    def __init__(
        self, registry: RegistryClient, reader: Schema | None = None, codecs_max: int = _CODECS_MAX
    ) -> None:
        self.registry = registry
        self._reader = reader
        self._codecs_max = codecs_max
        self._lock = Lock()
        self._by_id: dict[int, Codec] = {}
        self._by_guid: dict[str, Codec] = {}
        self._by_schema: dict[Schema, Codec] = {}

    def known(self, schema_id: int) -> Codec | None:
        """The codec, if it can be had without asking the registry."""
        return self._by_id.get(schema_id)

    def by_id(self, schema_id: int) -> Codec:
        codec = self._by_id.get(schema_id)
        if codec is None:
            codec = self.of(self.registry.schema_by_id(schema_id))
            with self._lock:
                _make_room(self._by_id, self._codecs_max)
                self._by_id[schema_id] = codec
        return codec

    def by_guid(self, guid: str) -> Codec:
        codec = self._by_guid.get(guid)
        if codec is None:
            codec = self.of(self.registry.schema_by_guid(guid).schema)
            with self._lock:
                _make_room(self._by_guid, self._codecs_max)
                self._by_guid[guid] = codec
        return codec

    def of(self, schema: Schema) -> Codec:
        codec = self._by_schema.get(schema)
        if codec is None:
            codec = make_codec(schema, self.registry.referenced(schema), self._reader)
            with self._lock:
                _make_room(self._by_schema, self._codecs_max)
                self._by_schema[schema] = codec
        return codec


def _make_room(
    cache: dict[int, Codec] | dict[str, Codec] | dict[Schema, Codec], limit: int
) -> None:
    while len(cache) >= limit:
        cache.pop(next(iter(cache)))  # type: ignore[call-overload]
