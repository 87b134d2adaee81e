"""v3: settings of topics and of brokers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from confluent_kafka.admin import (
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    ResourceType,
)
from starlette.requests import Request
from starlette.responses import Response

from headrace.rest.bodies import json_answer, read_object
from headrace.rest.errors import RestError, bad_request, not_found
from headrace.rest.services import Services
from headrace.rest.v3.clusters import find_broker
from headrace.rest.v3.resources import Links, collection, resource

Handler = Callable[[Request], Awaitable[Response]]


class ConfigsOf:
    """The handlers for the settings of one kind of thing."""

    def __init__(self, kind: str, parameter: str) -> None:
        self._kind = kind
        self._parameter = parameter

    def _resource(self, request: Request) -> tuple[ConfigResource, str]:
        name = request.path_params[self._parameter]
        if self._kind == "topic":
            return ConfigResource(ResourceType.TOPIC, name), name
        return ConfigResource(ResourceType.BROKER, name), name

    def _place(self, cluster_id: str, name: str) -> tuple[object, ...]:
        if self._kind == "topic":
            return (cluster_id, "topics", name, "configs")
        return (cluster_id, "brokers", name, "configs")

    async def _require(self, request: Request) -> tuple[Services, ConfigResource, str]:
        """What the settings belong to."""
        services: Services = request.app.state.services
        await services.require_cluster(request.path_params["cluster_id"])
        if self._kind == "broker":
            await find_broker(services, request.path_params[self._parameter])
        asked, name = self._resource(request)
        return services, asked, name

    async def _entries(self, request: Request) -> dict[str, ConfigEntry]:
        services, asked, _ = await self._require(request)
        answers = services.ask(
            services.admin.describe_configs,
            [asked],
            request_timeout=services.config.client_timeout_s,
        )
        entries: dict[str, ConfigEntry] = await services.answer(answers[asked])
        return entries

    def _answer(self, request: Request, entry: ConfigEntry) -> dict[str, Any]:
        cluster_id = request.path_params["cluster_id"]
        _, name = self._resource(request)
        names = [("kafka", cluster_id), (self._kind, name), ("config", entry.name)]
        kind = f"Kafka{self._kind.capitalize()}Config"
        address = Links(request).to(*self._place(cluster_id, name), entry.name)
        answer = {**resource(kind, address, names), "cluster_id": cluster_id}
        if self._kind == "topic":
            answer["topic_name"] = name
        else:
            answer["broker_id"] = int(name)
        answer |= {
            "name": entry.name,
            "value": entry.value,
            "is_default": bool(entry.is_default),
            "is_read_only": bool(entry.is_read_only),
            "is_sensitive": bool(entry.is_sensitive),
            "source": _source(entry.source),
            "synonyms": [
                {"name": one.name, "value": one.value, "source": _source(one.source)}
                for one in (entry.synonyms or {}).values()
            ],
        }
        return answer

    async def list_all(self, request: Request) -> Response:
        entries = await self._entries(request)
        cluster_id = request.path_params["cluster_id"]
        _, name = self._resource(request)
        data = [self._answer(request, entries[key]) for key in sorted(entries)]
        kind = f"Kafka{self._kind.capitalize()}ConfigList"
        address = Links(request).to(*self._place(cluster_id, name))
        return json_answer(collection(kind, address, data))

    async def get(self, request: Request) -> Response:
        entries = await self._entries(request)
        entry = entries.get(request.path_params["name"])
        if entry is None:
            raise not_found(f"Config {request.path_params['name'][:200]} cannot be found.")
        return json_answer(self._answer(request, entry))

    async def update(self, request: Request) -> Response:
        services: Services = request.app.state.services
        body = await read_object(request, services.config.body_max_bytes)
        name = request.path_params["name"]
        await self._alter(request, [_change(name, body.get("value"), "SET")], False)
        return Response(status_code=204)

    async def reset(self, request: Request) -> Response:
        await self._alter(request, [_change(request.path_params["name"], None, "DELETE")], False)
        return Response(status_code=204)

    async def alter(self, request: Request) -> Response:
        """Several settings in one step: all of them change, or none."""
        services: Services = request.app.state.services
        body = await read_object(request, services.config.body_max_bytes)
        data = body.get("data")
        if not isinstance(data, list) or not all(isinstance(item, dict) for item in data):
            raise bad_request("data must be a list of JSON objects.")
        changes = []
        for item in data:
            name, operation = item.get("name"), str(item.get("operation") or "SET").upper()
            if not isinstance(name, str) or not name or operation not in ("SET", "DELETE"):
                raise bad_request("A change needs a name, and an operation SET or DELETE.")
            changes.append(_change(name, item.get("value"), operation))
        await self._alter(request, changes, body.get("validate_only") is True)
        return Response(status_code=204)

    async def _alter(
        self, request: Request, changes: list[ConfigEntry], validate_only: bool
    ) -> None:
        services, asked, name = await self._require(request)
        if not changes:
            return
        changed = ConfigResource(asked.restype, name, incremental_configs=changes)
        answers = services.ask(
            services.admin.incremental_alter_configs,
            [changed],
            request_timeout=services.config.client_timeout_s,
            validate_only=validate_only,
        )
        try:
            await services.answer(answers[changed])
        except RestError as error:
            if error.code == 40403:
                raise RestError(
                    404, 40403, "This server does not host this topic-partition."
                ) from error
            raise


def _change(name: str, value: Any, operation: str) -> ConfigEntry:
    if operation == "SET" and (value is None or isinstance(value, dict | list)):
        raise bad_request(f"The value of {name[:200]} is missing.")
    text = None if value is None else str(value)
    if isinstance(value, bool):
        text = "true" if value else "false"
    kind = AlterConfigOpType.SET if operation == "SET" else AlterConfigOpType.DELETE
    return ConfigEntry(name, text, incremental_operation=kind)


def _source(source: Any) -> str:
    try:
        return ConfigSource(source).name
    except ValueError:
        return "UNKNOWN"


TOPIC = ConfigsOf("topic", "topic_name")
BROKER = ConfigsOf("broker", "broker_id")
