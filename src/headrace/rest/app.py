"""The web application: routes from the table, one place where failures become answers."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from headrace.rest.bodies import JSON, V2, V2_TYPES, error_answer, json_answer, media_types
from headrace.rest.config import RestConfig
from headrace.rest.docs_page import docs_page
from headrace.rest.errors import RestError
from headrace.rest.openapi import openapi
from headrace.rest.operations import V2_OPERATIONS, V3_OPERATIONS
from headrace.rest.services import Services

_REASONS = {404: "Not Found", 405: "Method Not Allowed"}

Handler = Callable[[Request], Awaitable[Response]]

logger = logging.getLogger("headrace.rest")


def make_app(config: RestConfig) -> Starlette:
    """Kafka's clients are made with it and closed with it."""
    services = Services(config)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        await services.start()
        yield
        await services.stop()

    routes = [
        Route(operation.path, _guarded(operation.handler), methods=[operation.method])
        for operation in (*V2_OPERATIONS, *V3_OPERATIONS)
    ]
    routes += [
        Route("/", _root),
        Route("/openapi.json", _openapi),
        Route("/v3/openapi.json", _openapi),
        Route("/docs", _docs),
    ]
    app = Starlette(
        routes=routes,
        lifespan=lifespan,
        exception_handlers={
            RestError: _rest_error,
            HTTPException: _http_error,
        },
    )
    app.router.redirect_slashes = False
    app.state.services = services
    return app


async def _root(_request: Request) -> Response:
    return json_answer({})


async def _openapi(_request: Request) -> Response:
    return json_answer(openapi())


async def _docs(_request: Request) -> Response:
    return HTMLResponse(docs_page(openapi()))


def _error_type(request: Request) -> str:
    """Errors come in the type of the API that was asked, if the client takes it."""
    accepted = media_types(request.headers.get("accept"))
    if not request.url.path.startswith("/v3") and any(
        name == V2 or name in V2_TYPES for name in accepted
    ):
        return V2
    return JSON


async def _rest_error(request: Request, error: Exception) -> Response:
    if not isinstance(error, RestError):
        raise error
    return error_answer(error, _error_type(request))


async def _http_error(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    status = error.status_code
    message = f"HTTP {status} {_REASONS.get(status, error.detail)}"
    answer = error_answer(RestError(status, status, message), _error_type(request))
    answer.headers.update(error.headers or {})
    return answer


def _guarded(handler: Handler) -> Handler:
    """A fault of the proxy is logged, and nothing of it is shown to the client."""

    async def handle(request: Request) -> Response:
        try:
            return await handler(request)
        except (RestError, HTTPException):
            raise
        except Exception as error:
            logger.error("%s %s failed", request.method, request.url.path, exc_info=error)
            return error_answer(RestError(500, 500, "Internal Server Error"), _error_type(request))

    return handle
