"""Bytes of records to values: finds the schema that wrote them and reads them with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from headrace.serde.codec import Codec
from headrace.serde.codecs import Codecs
from headrace.serde.errors import SerdeError
from headrace.serde.registry_client import RegistryClient
from headrace.serde.schema import Schema
from headrace.serde.wire import PREFIX_SIZE, Header, find_guid, read_prefix

_PREFIXES_MAX = 1000


class Deserializer:
    """For keys or for values; `reader` sees Avro data through a newer or an older schema.

    The schema's GUID in a header goes before the id in front of the data, as Confluent's newer
    clients do it. None, a deleted key, stays None.
    """

    def __init__(
        self, registry: RegistryClient, *, is_key: bool = False, reader: Schema | None = None
    ) -> None:
        self._codecs = Codecs(registry, reader)
        self._find = self._codecs.by_id
        self._is_key = is_key
        self._by_prefix: dict[bytes, Callable[[bytes, int], Any]] = {}

    def __call__(self, data: bytes | None, headers: Iterable[Header] | None = None) -> Any:
        if data is None:
            return None
        if headers:
            codec, body, at = self._start(data, headers)
            return codec.decode(body, at)
        # A topic has few schemas: most records begin with bytes that were seen before.
        decode = self._by_prefix.get(data[:PREFIX_SIZE])
        if decode is None:
            decode = self._find(read_prefix(data)).decode
            if len(self._by_prefix) >= _PREFIXES_MAX:
                self._by_prefix.clear()
            self._by_prefix[data[:PREFIX_SIZE]] = decode
        return decode(data, PREFIX_SIZE)

    def to_json(self, data: bytes | None, headers: Iterable[Header] | None = None) -> Any:
        """The value as JSON can hold it, in the format's own JSON form."""
        if data is None:
            return None
        codec, body, at = self._start(data, headers)
        return codec.decode_json(body, at)

    def all(self, values: Sequence[bytes | None]) -> list[Any]:
        """Many values at once; a topic mostly has one schema, so it is looked up once a run."""
        found: list[Any] = []
        last: bytes | None = None
        decode: Callable[[bytes, int], Any] | None = None
        for data in values:
            if data is None:
                found.append(None)
                continue
            prefix = data[:PREFIX_SIZE]
            if decode is None or prefix != last:
                decode = self._find(read_prefix(data)).decode
                last = prefix
            found.append(decode(data, PREFIX_SIZE))
        return found

    def _start(self, data: bytes, headers: Iterable[Header] | None) -> tuple[Codec, bytes, int]:
        """The codec, and where the value begins in which bytes."""
        found = find_guid(headers, self._is_key)
        if found is None:
            return self._codecs.by_id(read_prefix(data)), data, PREFIX_SIZE
        guid, indexes = found
        # Protobuf's message indexes are in the header too; codecs read them before the data.
        return self._codecs.by_guid(guid), indexes + data if indexes else data, 0


def require_registry(registry: RegistryClient | None) -> RegistryClient:
    if registry is None:
        raise SerdeError("schema.registry.url is not set, so there is nowhere to find schemas.")
    return registry
