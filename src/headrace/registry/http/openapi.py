"""The OpenAPI description of the registry, served at `/openapi.json`."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, NamedTuple

from headrace import __version__
from headrace.registry.core.levels import LEVELS
from headrace.registry.core.schema import TYPES
from headrace.registry.core.settings import MODES
from headrace.registry.http.answers import CONTENT_TYPE
from headrace.web.messages import dump_json

_VERSION = "/subjects/{subject}/versions/{version}"
_BY_ID = "/schemas/ids/{id}"
_COMPATIBILITY = "/compatibility/subjects/{subject}/versions"
_PAGE = ("offset", "limit")
_WHOLE = frozenset(_PAGE)
_TEXTS = frozenset(("subjectPrefix", "contextPrefix", "subject", "format", "key", "value"))


class _Call(NamedTuple):
    method: str
    path: str
    summary: str
    query: tuple[str, ...] = ()
    body: str | None = None
    #: Statuses besides 200 and the server's own failures.
    refusals: tuple[int, ...] = ()


_CALLS = (
    _Call("get", "/subjects", "List subjects", ("subjectPrefix", "deleted", "deletedOnly", *_PAGE)),
    _Call("post", "/subjects/{subject}", "Find a schema under a subject",
          ("normalize", "deleted", "format"), "Schema", (404, 422)),
    _Call("delete", "/subjects/{subject}", "Delete a subject", ("permanent",), None, (404, 422)),
    _Call("get", "/subjects/{subject}/metadata", "The latest version with these properties",
          ("key", "value", "deleted", "format"), None, (404,)),
    _Call("get", "/subjects/{subject}/versions", "List the versions of a subject",
          ("deleted", "deletedOnly", *_PAGE), None, (404,)),
    _Call("post", "/subjects/{subject}/versions", "Register a schema",
          ("normalize", "force", "format"), "Schema", (409, 422)),
    _Call("get", _VERSION, "A version of a subject", ("deleted", "format"), None, (404, 422)),
    _Call("delete", _VERSION, "Delete a version", ("permanent",), None, (404, 422)),
    _Call("get", f"{_VERSION}/schema", "Its schema alone", ("deleted", "format"), None, (404, 422)),
    _Call("get", f"{_VERSION}/referencedby", "Ids of the schemas that refer to it",
          ("deleted", *_PAGE), None, (404, 422)),
    _Call("get", "/schemas", "List schemas", ("subjectPrefix", "deleted", "latestOnly", *_PAGE)),
    _Call("get", "/schemas/types", "The types of schemas"),
    _Call("get", _BY_ID, "The schema of an id", ("subject", "format", "fetchMaxId"), None, (404,)),
    _Call("get", f"{_BY_ID}/schema", "Its schema alone", ("subject", "format"), None, (404,)),
    _Call("get", f"{_BY_ID}/subjects", "Subjects that have the id",
          ("subject", "deleted", *_PAGE), None, (404,)),
    _Call("get", f"{_BY_ID}/versions", "Versions that have the id",
          ("subject", "deleted", *_PAGE), None, (404,)),
    _Call("get", "/schemas/guids/{guid}", "The schema of a GUID", ("format",), None, (404,)),
    _Call("get", "/schemas/guids/{guid}/ids", "The ids of a GUID", (), None, (404,)),
    _Call("get", "/contexts", "List contexts", ("contextPrefix", *_PAGE)),
    _Call("post", _COMPATIBILITY, "Is a schema compatible with a subject?",
          ("verbose", "normalize"), "Schema", (422,)),
    _Call("post", f"{_COMPATIBILITY}/{{version}}", "Is a schema compatible with a version?",
          ("verbose", "normalize"), "Schema", (404, 422)),
    _Call("get", "/config", "Everybody's compatibility"),
    _Call("put", "/config", "Change it", (), "Config", (422,)),
    _Call("delete", "/config", "Back to the default", (), None, (422,)),
    _Call("get", "/config/{subject}", "A subject's compatibility",
          ("defaultToGlobal",), None, (404,)),
    _Call("put", "/config/{subject}", "Change it", (), "Config", (422,)),
    _Call("delete", "/config/{subject}", "Back to everybody's", (), None, (404, 422)),
    _Call("get", "/mode", "Everybody's mode"),
    _Call("put", "/mode", "Change it", ("force",), "Mode", (422,)),
    _Call("delete", "/mode", "Back to the default", (), None, (422,)),
    _Call("get", "/mode/{subject}", "A subject's mode", ("defaultToGlobal",), None, (404,)),
    _Call("put", "/mode/{subject}", "Change it", ("force",), "Mode", (422,)),
    _Call("delete", "/mode/{subject}", "Back to everybody's", (), None, (404, 422)),
    _Call("get", "/v1/metadata/id", "The ids of the clusters"),
    _Call("get", "/v1/metadata/version", "The version of the registry"),
    _Call("get", "/leader", "Which registry leads"),
)  # fmt: skip

_BODIES: dict[str, Any] = {
    "Schema": {
        "type": "object",
        "required": ["schema"],
        "properties": {
            "schema": {"type": "string"},
            "schemaType": {"type": "string", "enum": list(TYPES)},
            "references": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["name", "subject", "version"],
                    "properties": {
                        "name": {"type": "string"},
                        "subject": {"type": "string"},
                        "version": {"type": "integer", "format": "int32"},
                    },
                },
            },
            "metadata": {"type": "object"},
            "ruleSet": {"type": "object"},
            "id": {"type": "integer", "format": "int32"},
            "version": {"type": "integer", "format": "int32"},
        },
    },
    "Config": {
        "type": "object",
        "properties": {"compatibility": {"type": "string", "enum": list(LEVELS)}},
    },
    "Mode": {
        "type": "object",
        "required": ["mode"],
        "properties": {"mode": {"type": "string", "enum": list(MODES)}},
    },
    "Error": {
        "type": "object",
        "required": ["error_code", "message"],
        "properties": {"error_code": {"type": "integer"}, "message": {"type": "string"}},
    },
}


@cache
def description() -> bytes:
    paths: dict[str, dict[str, Any]] = {}
    for call in _CALLS:
        paths.setdefault(call.path, {})[call.method] = _operation(call)
    return dump_json(
        {
            "openapi": "3.0.3",
            "info": {"title": "Headrace schema registry", "version": __version__},
            "paths": paths,
            "components": {"schemas": _BODIES},
        }
    )


def _operation(call: _Call) -> dict[str, Any]:
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": _path_schema(name)}
        for name in re.findall(r"{(\w+)}", call.path)
    ]
    parameters += [{"name": name, "in": "query", "schema": _schema(name)} for name in call.query]
    responses: dict[str, Any] = {"200": _answer("The answer", {})}
    for status in (*call.refusals, 400, 404, 500):
        error = {"$ref": "#/components/schemas/Error"}
        responses[str(status)] = _answer("Why there is no answer", error)
    operation: dict[str, Any] = {
        "summary": call.summary,
        "parameters": parameters,
        "responses": responses,
    }
    if call.body is not None:
        reference = {"$ref": f"#/components/schemas/{call.body}"}
        content = {kind: {"schema": reference} for kind in (CONTENT_TYPE, "application/json")}
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _answer(text: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": text, "content": {CONTENT_TYPE: {"schema": schema}}}


def _path_schema(name: str) -> dict[str, Any]:
    return {"type": "integer", "minimum": 0} if name == "id" else {"type": "string"}


def _schema(name: str) -> dict[str, Any]:
    if name in _WHOLE:
        return {"type": "integer", "format": "int32"}
    return {"type": "string"} if name in _TEXTS else {"type": "boolean"}
