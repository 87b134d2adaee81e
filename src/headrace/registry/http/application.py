"""The registry's HTTP application: content types, contexts in paths, and the leader's writes."""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import unquote

from headrace import __version__
from headrace.registry.core.subjects import context_prefix, parse_context
from headrace.registry.errors import RegistryError
from headrace.registry.http.answers import CONTENT_TYPE, answer
from headrace.registry.http.forwarding import Forwarder
from headrace.registry.http.schemas_api import SchemasApi
from headrace.registry.http.settings_api import SettingsApi
from headrace.registry.http.subjects_api import SubjectsApi
from headrace.registry.service import NotLeaderError, RegistryService
from headrace.web.application import Application
from headrace.web.messages import HttpError, Request, Response
from headrace.web.router import Route, Router

_KINDS = (CONTENT_TYPE, "application/vnd.schemaregistry+json", "application/json")
_BODY_KINDS = (*_KINDS, "application/octet-stream")
_ANY = ("*/*", "application/*")
_IN_CONTEXT = re.compile(r"/contexts/([^/]+)(/.*)\Z")
_NAMED = re.compile(r"(/(?:compatibility/)?(?:subjects|config|mode)/)([^/]+)(.*)\Z")


class RegistryApplication(Application):
    """All that the registry serves."""

    def __init__(self, service: RegistryService) -> None:
        self._service = service
        self._forwarder = Forwarder()
        routes = [
            *SubjectsApi(service).routes(),
            *SchemasApi(service).routes(),
            *SettingsApi(service).routes(),
            Route("GET", "/", self._root),
            Route("POST", "/", self._root),
            Route("GET", "/exporters", self._exporters),
            Route("GET", "/v1/metadata/id", self._metadata_id),
            Route("GET", "/v1/metadata/version", self._metadata_version),
            Route("GET", "/leader", self._leader),
            Route("GET", "/openapi.json", self._openapi),
        ]
        super().__init__(
            Router(routes),
            content_type=CONTENT_TYPE,
            body_bytes_max=service.config.body_bytes_max,
        )

    async def answer(self, request: Request, path: str) -> Response:
        _check_kinds(request)
        try:
            return await super().answer(request, _without_context(request, path))
        except RegistryError as error:
            raise HttpError(error.status, error.message, error.code) from error
        except NotLeaderError as error:
            return await self._forwarder.forward(request, error.leader)

    async def _root(self, request: Request) -> Response:
        return answer({})

    async def _exporters(self, request: Request) -> Response:
        """Schema linking is a commercial feature elsewhere; here there are never any."""
        return answer([])

    async def _metadata_id(self, request: Request) -> Response:
        scope = {
            "path": [],
            "clusters": {
                "kafka-cluster": self._service.cluster_id,
                "schema-registry-cluster": self._service.config.election.group_id,
            },
        }
        return answer({"scope": scope})

    async def _metadata_version(self, request: Request) -> Response:
        return answer({"version": __version__, "commitId": ""})

    async def _leader(self, request: Request) -> Response:
        leader = self._service.leader
        url = None if leader is None else leader.url
        return answer({"leader": url, "is_leader": self._service.leads})

    async def _openapi(self, request: Request) -> Response:
        from headrace.registry.http.openapi import description

        return Response(description(), 200, "application/json")


def _check_kinds(request: Request) -> None:
    accept = request.headers.get("accept")
    if accept and not _is_acceptable(accept):
        raise HttpError(406, "HTTP 406 Not Acceptable")
    kind = request.headers.get("content-type")
    if kind and request.method in ("POST", "PUT") and _bare(kind) not in _BODY_KINDS:
        raise HttpError(415, "HTTP 415 Unsupported Media Type")


@lru_cache(maxsize=100)
def _is_acceptable(accept: str) -> bool:
    return any(_bare(one) in (*_KINDS, *_ANY, "") for one in accept.split(","))


def _bare(kind: str) -> str:
    return kind.partition(";")[0].strip().lower()


def _without_context(request: Request, path: str) -> str:
    """`/contexts/.c/subjects/s` is `/subjects/:.c:s`; where no subject stands, it is a prefix."""
    found = _IN_CONTEXT.match(path) if path.startswith("/contexts/") else None
    if found is None:
        return path
    prefix = context_prefix(parse_context(unquote(found.group(1))))
    rest = found.group(2).rstrip("/")
    if not rest:
        return path
    named = _NAMED.match(rest)
    if named is not None:
        before, subject, after = named.groups()
        return path if not prefix else f"{before}{_qualified(prefix, subject)}{after}"
    if rest in ("/config", "/mode"):
        return f"{rest}/{prefix}" if prefix else rest
    parameter = "subject" if rest.startswith("/schemas/ids/") else "subjectPrefix"
    value = request.text(parameter)
    request.query = {**request.query, parameter: [_qualified(prefix, value)]}
    return rest


def _qualified(prefix: str, subject: str) -> str:
    return subject if unquote(subject).startswith(":.") else prefix + subject
