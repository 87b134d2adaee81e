"""Schemas of requests: found or registered, then ready to write records with.

The registry's client blocks, so it is asked in a thread, and only for what is not known yet.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TypeVar

from headrace.rest.errors import (
    RestError,
    bad_request,
    invalid_schema,
    serialization_failed,
)
from headrace.serde.codecs import Codecs
from headrace.serde.deserializer import Deserializer
from headrace.serde.errors import RegistryError, RegistryUnavailableError, SchemaError, SerdeError
from headrace.serde.registry_client import RegistryClient
from headrace.serde.schema import AVRO, JSON, PROTOBUF, RegisteredSchema, Schema
from headrace.serde.serializer import Writer
from headrace.serde.subjects import (
    SubjectNameStrategy,
    find_strategy,
    needs_record_name,
    topic_name,
)
from headrace.serde.wire import prefix

_SCHEMA_TYPES = {"AVRO": AVRO, "JSONSCHEMA": JSON, "PROTOBUF": PROTOBUF}
FORMAT_OF_TYPE = {AVRO: "AVRO", JSON: "JSONSCHEMA", PROTOBUF: "PROTOBUF"}
_WRITERS_MAX = 1000

_T = TypeVar("_T")


class SchemaManager:
    """Writers for what a request says about its schema."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        self._settings = settings
        self._client: RegistryClient | None = None
        self._codecs: Codecs | None = None
        self._writers: dict[tuple[object, ...], Writer] = {}
        self._strategy = self._default_strategy()

    def close(self) -> None:
        if self._client is not None:
            self._client.close()

    @property
    def client(self) -> RegistryClient:
        if self._client is None:
            if not self._settings.get("schema.registry.url"):
                raise serialization_failed("schema.registry.url is not set for this proxy.")
            self._client = RegistryClient.from_settings(self._settings)
        return self._client

    @property
    def codecs(self) -> Codecs:
        if self._codecs is None:
            self._codecs = Codecs(self.client)
        return self._codecs

    def deserializer(self, *, is_key: bool) -> Deserializer:
        return Deserializer(self.client, is_key=is_key)

    async def by_id(
        self, topic: str, is_key: bool, schema_id: int, subject: str | None, strategy: str | None
    ) -> Writer:
        return await self._writer(
            (topic, is_key, schema_id, subject, strategy),
            lambda: self._from_id(topic, is_key, schema_id, subject, strategy),
        )

    async def by_version(
        self, topic: str, is_key: bool, version: int, subject: str | None, strategy: str | None
    ) -> Writer:
        def find() -> RegisteredSchema:
            return self.client.version(self._subject(topic, is_key, subject, strategy), version)

        return await self._writer((topic, is_key, "v", version, subject, strategy), find)

    async def latest(
        self, topic: str, is_key: bool, subject: str | None, strategy: str | None
    ) -> Writer:
        def find() -> RegisteredSchema:
            return self.client.latest(self._subject(topic, is_key, subject, strategy))

        return await self._writer(None, find)

    async def by_text(
        self,
        topic: str,
        is_key: bool,
        schema_format: str,
        text: str,
        subject: str | None,
        strategy: str | None,
    ) -> Writer:
        schema = Schema(text, _SCHEMA_TYPES[schema_format])

        def register() -> RegisteredSchema:
            name = self._subject(topic, is_key, subject, strategy, schema)
            # What makes no sense is not registered.
            self.codecs.of(schema)
            return self.client.register(name, schema)

        return await self._writer((topic, is_key, schema, subject, strategy), register)

    # ---------------------------------------------------------------- pieces

    async def _writer(
        self, key: tuple[object, ...] | None, find: Callable[[], RegisteredSchema]
    ) -> Writer:
        known = None if key is None else self._writers.get(key)
        if known is not None:
            return known

        def make() -> Writer:
            registered = find()
            return Writer(registered, self.codecs.of(registered.schema), prefix(registered.id))

        writer = await asyncio.to_thread(_in_words, make)
        if key is not None:
            while len(self._writers) >= _WRITERS_MAX:
                del self._writers[next(iter(self._writers))]
            self._writers[key] = writer
        return writer

    def _from_id(
        self, topic: str, is_key: bool, schema_id: int, subject: str | None, strategy: str | None
    ) -> RegisteredSchema:
        schema = self.client.schema_by_id(schema_id)
        name = self._subject(topic, is_key, subject, strategy, schema)
        # Only what is registered under the topic's subject may be written to it.
        found = self.client.lookup(name, schema)
        return RegisteredSchema(schema, schema_id, name, found.version, found.guid)

    def _subject(
        self,
        topic: str,
        is_key: bool,
        subject: str | None,
        strategy: str | None,
        schema: Schema | None = None,
    ) -> str:
        if subject is not None:
            return subject
        name = self._strategy if strategy is None else find_strategy(strategy)
        if schema is None and needs_record_name(name):
            which = " default" if strategy is None else ""
            shown = "" if strategy is None else f"={strategy}"
            raise bad_request(
                f"Cannot use{which} schema_subject_strategy{shown} without schema_id or schema."
            )
        record = None
        if schema is not None and needs_record_name(name):
            record = self.codecs.of(schema).record_name
        return name(topic, is_key, record)

    def _default_strategy(self) -> SubjectNameStrategy:
        name = self._settings.get("schema.registry.subject.name.strategy") or self._settings.get(
            "subject.name.strategy"
        )
        return find_strategy(name) if name else topic_name


def _in_words(ask: Callable[[], _T]) -> _T:
    """The registry's failures as the API's."""
    try:
        return ask()
    except RestError:
        raise
    except SchemaError as error:
        raise invalid_schema(str(error)) from error
    except RegistryUnavailableError as error:
        raise RestError(408, 40801, str(error)) from error
    except RegistryError as error:
        if error.status in (401, 403):
            raise RestError(error.status, error.code, str(error)) from error
        raise serialization_failed(str(error)) from error
    except SerdeError as error:
        raise serialization_failed(str(error)) from error
