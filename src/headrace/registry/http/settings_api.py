"""`/config...`, `/mode...` and `/compatibility...`."""

from __future__ import annotations

from typing import Any

from headrace.registry.core import queries
from headrace.registry.core.lookup import canonical_schema, normalizes
from headrace.registry.core.registry import Registry
from headrace.registry.core.setting_changes import (
    delete_config,
    delete_mode,
    set_config,
    set_mode,
)
from headrace.registry.core.settings import public_config
from headrace.registry.core.subjects import normal
from headrace.registry.errors import InvalidSchemaError, config_not_found, mode_not_found
from headrace.registry.http.answers import answer
from headrace.registry.http.bodies import read_object, read_schema, read_version, subject_of
from headrace.registry.service import RegistryService
from headrace.web.messages import Request, Response
from headrace.web.router import Route


class SettingsApi:
    """What is set for a subject, or for all if no subject is named."""

    def __init__(self, service: RegistryService) -> None:
        self._service = service

    def routes(self) -> list[Route]:
        routes = []
        for path in ("/config", "/config/{subject}"):
            routes += [
                Route("GET", path, self.config),
                Route("PUT", path, self.set_config),
                Route("DELETE", path, self.delete_config),
            ]
        for path in ("/mode", "/mode/{subject}"):
            routes += [
                Route("GET", path, self.mode),
                Route("PUT", path, self.set_mode),
                Route("DELETE", path, self.delete_mode),
            ]
        versions = "/compatibility/subjects/{subject}/versions"
        routes += [
            Route("POST", versions, self.compatibility),
            Route("POST", f"{versions}/{{version}}", self.compatibility),
        ]
        return routes

    # ---------------------------------------------------------------- configuration

    async def config(self, request: Request) -> Response:
        subject = _optional_subject(request)

        def ask(core: Registry) -> dict[str, Any]:
            own = core.state.configs.get(subject)
            if own is not None and not request.flag("defaultToGlobal"):
                return public_config({"compatibilityLevel": _level(core, subject), **own})
            if subject is not None and not request.flag("defaultToGlobal"):
                raise config_not_found(subject)
            return core.config_of(subject)

        return answer(await self._service.fresh(ask))

    async def set_config(self, request: Request) -> Response:
        subject, body = _optional_subject(request), await read_object(request)
        return answer(await self._service.change(lambda core: set_config(core, subject, body)))

    async def delete_config(self, request: Request) -> Response:
        subject = _optional_subject(request)
        return answer(await self._service.change(lambda core: delete_config(core, subject)))

    # ---------------------------------------------------------------- mode

    async def mode(self, request: Request) -> Response:
        subject = _optional_subject(request)

        def ask(core: Registry) -> dict[str, Any]:
            own = core.state.modes.get(subject)
            if own is not None:
                return {"mode": own}
            if subject is not None and not request.flag("defaultToGlobal"):
                raise mode_not_found(subject)
            return {"mode": core.mode_of(subject)}

        return answer(await self._service.fresh(ask))

    async def set_mode(self, request: Request) -> Response:
        subject, body = _optional_subject(request), await read_object(request)
        force = request.flag("force")
        return answer(
            await self._service.change(lambda core: set_mode(core, subject, body, force=force))
        )

    async def delete_mode(self, request: Request) -> Response:
        subject = _optional_subject(request)
        return answer(await self._service.change(lambda core: delete_mode(core, subject)))

    # ---------------------------------------------------------------- compatibility

    async def compatibility(self, request: Request) -> Response:
        subject, schema = subject_of(request), read_schema(await read_object(request))
        text = request.params.get("version")
        version = None if text is None else read_version(text)
        verbose = request.flag("verbose")

        def ask(core: Registry) -> list[str]:
            normalize = normalizes(core, subject, request.flag("normalize"))
            try:
                stored = canonical_schema(core, subject, schema, normalize=normalize)
                return queries.compatibility(core, subject, stored, version)
            except InvalidSchemaError as error:
                if not verbose:
                    raise
                return [error.message]

        messages = await self._service.fresh(ask)
        found: dict[str, Any] = {"is_compatible": not messages}
        if verbose:
            found["messages"] = messages
        return answer(found)


def _level(core: Registry, subject: str | None) -> str:
    return str(core.config_of(subject)["compatibilityLevel"])


def _optional_subject(request: Request) -> str | None:
    """None for everybody; the default context is everybody too."""
    text = request.params.get("subject")
    return None if text is None else normal(text) or None
