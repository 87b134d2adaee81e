"""Values to bytes of records: registers the schema or finds it, checks the value against it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.serde.codec import Codec
from headrace.serde.codecs import Codecs
from headrace.serde.errors import SerdeError
from headrace.serde.registry_client import RegistryClient
from headrace.serde.schema import PROTOBUF, RegisteredSchema, Schema
from headrace.serde.subjects import SubjectNameStrategy, needs_record_name, topic_name
from headrace.serde.wire import Header, guid_header, header_name, prefix, read_indexes


@dataclass(frozen=True, slots=True)
class SerializerConfig:
    """Confluent's settings: `auto.register.schemas`, `use.latest.version`, `use.schema.id`,
    `normalize.schemas`, `{key,value}.subject.name.strategy`."""

    auto_register: bool = True
    use_latest: bool = False
    use_schema_id: int | None = None
    normalize: bool = False
    strategy: SubjectNameStrategy = topic_name


@dataclass(frozen=True, slots=True)
class Writer:
    """A registered schema, ready to write records with."""

    registered: RegisteredSchema
    codec: Codec
    prefix: bytes

    def write(self, value: Any) -> bytes:
        return self.prefix + self.codec.encode(value)

    def write_json(self, value: Any) -> bytes:
        return self.prefix + self.codec.encode_json(value)


class Serializer:
    """Keys or values of one schema, for any topic."""

    def __init__(
        self,
        registry: RegistryClient,
        schema: Schema | None = None,
        config: SerializerConfig | None = None,
        *,
        is_key: bool = False,
    ) -> None:
        self._config = config or SerializerConfig()
        self._codecs = Codecs(registry)
        self._schema = schema
        self._is_key = is_key
        self._writers: dict[str, Writer] = {}
        by_config = self._config.use_latest or self._config.use_schema_id is not None
        if schema is None and not by_config:
            raise SerdeError("A serializer needs a schema, a schema id, or the latest version.")

    def __call__(self, topic: str, value: Any) -> bytes | None:
        return None if value is None else self.writer(topic).write(value)

    def with_header(self, topic: str, value: Any) -> tuple[bytes | None, Header | None]:
        """The bare data, and the header that carries the schema's GUID."""
        if value is None:
            return None, None
        writer = self.writer(topic)
        registered = writer.registered
        guid = registered.guid
        if guid is None:
            raise SerdeError("The schema registry gave no GUID, which a schema in headers needs.")
        data = writer.codec.encode(value)
        if registered.schema.type != PROTOBUF:
            return data, (header_name(self._is_key), guid_header(guid))
        indexes, at = read_indexes(data, 0)
        return data[at:], (header_name(self._is_key), guid_header(guid, indexes))

    def writer(self, topic: str) -> Writer:
        """The schema under the topic's subject; asked for once, then remembered."""
        found = self._writers.get(topic)
        if found is None:
            registered = self._register(topic)
            found = Writer(registered, self._codecs.of(registered.schema), prefix(registered.id))
            self._writers[topic] = found
        return found

    def _register(self, topic: str) -> RegisteredSchema:
        config, registry = self._config, self._codecs.registry
        if config.use_schema_id is not None:
            schema = registry.schema_by_id(config.use_schema_id)
            return RegisteredSchema(schema, config.use_schema_id)
        record = None
        if self._schema is not None and needs_record_name(config.strategy):
            record = self._codecs.of(self._schema).record_name
        subject = config.strategy(topic, self._is_key, record)
        if config.use_latest:
            return registry.latest(subject)
        if self._schema is None:
            raise SerdeError("There is no schema to register.")
        # A schema that makes no sense is not registered.
        self._codecs.of(self._schema)
        put = registry.register if config.auto_register else registry.lookup
        return put(subject, self._schema, normalize=config.normalize)
