"""The schema registry as serializers need it: schemas by id, GUID, version and latest; register.

What cannot change is remembered: the schema of an id, of a GUID, of a version, and the id of a
schema under a subject. What can change (latest) is asked for each time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any, TypeVar
from urllib.parse import quote

from headrace.serde.errors import RegistryUnavailableError, SchemaError, SerdeError
from headrace.serde.registry_http import RegistryHttp
from headrace.serde.schema import AVRO, Reference, RegisteredSchema, Schema

_CACHE_MAX = 1000
_REFERENCES_MAX = 1000

_V = TypeVar("_V")


class RegistryClient:
    """Blocking, cached and safe for threads."""

    def __init__(self, http: RegistryHttp, cache_max: int = _CACHE_MAX) -> None:
        self._http = http
        self._cache_max = cache_max
        self._lock = Lock()
        self._by_id: dict[object, Schema] = {}
        self._by_guid: dict[object, RegisteredSchema] = {}
        self._by_version: dict[object, RegisteredSchema] = {}
        self._registered: dict[object, RegisteredSchema] = {}

    @classmethod
    def from_settings(cls, settings: Mapping[str, str]) -> RegistryClient:
        """From Confluent's names: `schema.registry.url`, `basic.auth.user.info` and so on."""

        def setting(name: str) -> str | None:
            return settings.get(f"schema.registry.{name}") or settings.get(name)

        urls = [url.strip() for url in settings.get("schema.registry.url", "").split(",")]
        source = setting("basic.auth.credentials.source") or "USER_INFO"
        http = RegistryHttp(
            [url for url in urls if url],
            user_info=setting("basic.auth.user.info") if source == "USER_INFO" else None,
            bearer_token=setting("bearer.auth.token"),
            timeout_s=int(setting("request.timeout.ms") or 10_000) / 1000,
            ca_file=setting("ssl.ca.location"),
        )
        return cls(http, int(setting("cache.capacity") or _CACHE_MAX))

    def close(self) -> None:
        self._http.close()

    # ---------------------------------------------------------------- reading

    def schema_by_id(self, schema_id: int) -> Schema:
        return self._cached(
            self._by_id,
            schema_id,
            lambda: _schema(self._http.ask("GET", f"/schemas/ids/{schema_id}")),
        )

    def schema_by_guid(self, guid: str) -> RegisteredSchema:
        def ask() -> RegisteredSchema:
            answer = self._http.ask("GET", f"/schemas/guids/{quote(guid, safe='')}")
            return RegisteredSchema(_schema(answer), int(answer.get("id", 0)), guid=guid)

        return self._cached(self._by_guid, guid, ask)

    def known_schema(self, schema_id: int) -> Schema | None:
        """The schema, if it can be had without asking."""
        return self._by_id.get(schema_id)

    def version(self, subject: str, version: int) -> RegisteredSchema:
        return self._cached(
            self._by_version, (subject, version), lambda: self._version(subject, str(version))
        )

    def latest(self, subject: str) -> RegisteredSchema:
        return self._version(subject, "latest")

    def _version(self, subject: str, version: str) -> RegisteredSchema:
        answer = self._http.ask("GET", f"/subjects/{quote(subject, safe='')}/versions/{version}")
        return _registered(answer, _schema(answer))

    def referenced(self, schema: Schema) -> dict[str, Schema]:
        """Everything a schema builds on, by name; what others build on comes first."""
        found: dict[str, Schema] = {}
        asked = 0

        def collect(references: tuple[Reference, ...], above: tuple[str, ...]) -> None:
            nonlocal asked
            for reference in references:
                if reference.name in above:
                    raise SchemaError(f"The schema refers to itself by way of {reference.name}.")
                if reference.name in found:
                    continue
                asked += 1
                if asked > _REFERENCES_MAX:
                    raise SchemaError(f"The schema has more than {_REFERENCES_MAX} references.")
                target = self.version(reference.subject, reference.version).schema
                collect(target.references, (*above, reference.name))
                found[reference.name] = target

        collect(schema.references, ())
        return found

    # ---------------------------------------------------------------- registering

    def lookup(self, subject: str, schema: Schema, *, normalize: bool = False) -> RegisteredSchema:
        """A schema that must be registered already."""
        return self._posted(f"/subjects/{quote(subject, safe='')}", subject, schema, normalize)

    def register(
        self, subject: str, schema: Schema, *, normalize: bool = False
    ) -> RegisteredSchema:
        """Register a schema under a subject, or find it there."""
        path = f"/subjects/{quote(subject, safe='')}/versions"
        return self._posted(path, subject, schema, normalize)

    def _posted(self, path: str, subject: str, schema: Schema, normalize: bool) -> RegisteredSchema:
        def ask() -> RegisteredSchema:
            query = "?normalize=true" if normalize else ""
            answer = self._http.ask("POST", path + query, _body(schema))
            return _registered({"subject": subject, **answer}, schema)

        return self._cached(self._registered, (path, schema, normalize), ask)

    def _cached(self, cache: dict[object, _V], key: object, ask: Callable[[], _V]) -> _V:
        found = cache.get(key)
        if found is None:
            try:
                found = ask()
            except (KeyError, TypeError, AttributeError) as error:
                raise RegistryUnavailableError(
                    "The schema registry gave an answer that is not understood."
                ) from error
            with self._lock:
                while len(cache) >= self._cache_max:
                    del cache[next(iter(cache))]
                cache[key] = found
        return found


def _body(schema: Schema) -> dict[str, Any]:
    body: dict[str, Any] = {"schema": schema.text}
    if schema.type != AVRO:
        body["schemaType"] = schema.type
    if schema.references:
        body["references"] = [
            {"name": ref.name, "subject": ref.subject, "version": ref.version}
            for ref in schema.references
        ]
    return body


def _schema(answer: Any) -> Schema:
    references = tuple(
        Reference(ref["name"], ref["subject"], int(ref["version"]))
        for ref in answer.get("references") or ()
    )
    return Schema(answer["schema"], answer.get("schemaType") or AVRO, references)


def _registered(answer: Any, schema: Schema) -> RegisteredSchema:
    if not isinstance(answer.get("id"), int):
        raise SerdeError("The schema registry gave an answer without an id.")
    return RegisteredSchema(
        schema,
        answer["id"],
        str(answer.get("subject", "")),
        int(answer.get("version") or 0),
        answer.get("guid"),
    )
