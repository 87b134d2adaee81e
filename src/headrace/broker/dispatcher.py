"""From the bytes of one request to the bytes of its response.

No socket here: a connection hands in a frame and gets back the chunks to send, or a promise of
them. Whatever is wrong with a frame costs its sender the connection and nobody else anything.
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from headrace.base.clock import Clock
from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker.api_table import Api, ApiTable, Handler, Scope
from headrace.broker.authorization import CLUSTER_NAME, Operation, ResourceType
from headrace.broker.context import ConnectionInfo, RequestContext
from headrace.broker.error_replies import error_response
from headrace.broker.known_requests import (
    DECLINED,
    NOT_NOW,
    Declined,
    KnownRequests,
    Learner,
    start_of,
)
from headrace.broker.metrics import ApiMetrics, BrokerMetrics
from headrace.broker.parked import Close, Encoded, Parked, Reply
from headrace.broker.response_errors import ErrorFinder, error_finder
from headrace.protocol import compiler, wire
from headrace.protocol.apis import ApiKey
from headrace.protocol.errors import ProtocolError
from headrace.protocol.headers import response_header_version
from headrace.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from headrace.protocol.schema import Response

logger = logging.getLogger(__name__)

Chunks = list[compiler.Buffer]
#: Gets the bytes of a response, in one piece or in several.
Send = Callable[["bytes | Chunks | Close | None"], None]
#: Responses up to this size leave as one piece; the records of larger ones are not copied again.
_JOIN_MAX = 32 * 1024
_HEADER_START = struct.Struct(">hhih")
_OLD_START = struct.Struct(">ii")
#: Of nearly all versions: with an empty set of tags.
_START = struct.Struct(">iib")


@dataclass(frozen=True, slots=True)
class Route:
    """All that is needed to serve one version of one API."""

    api: Api
    version: int
    handler: Handler
    #: What the caller must be allowed to do on the cluster, if that is asked at all.
    cluster_operation: Operation | None
    read: compiler.Reader
    write: compiler.Writer
    has_flexible_request_header: bool
    has_flexible_response_header: bool
    metrics: ApiMetrics
    #: None for APIs whose handlers count errors themselves, since they are asked most.
    find_errors: ErrorFinder | None
    #: The handler, if it learns requests that clients repeat.
    learner: Learner | None


#: Their responses are not walked for errors: the handlers know them.
_COUNT_THEIR_ERRORS = frozenset({ApiKey.PRODUCE, ApiKey.FETCH})


class Dispatcher:
    """Serves frames through the API table."""

    def __init__(self, table: ApiTable, metrics: BrokerMetrics, clock: Clock) -> None:
        self._table = table
        self._metrics = metrics
        self._clock = clock
        self._routes: dict[tuple[int, int], Route] = {}

    def serve(
        self,
        connection: ConnectionInfo,
        frame: memoryview,
        send: Send,
    ) -> Parked | None:
        """Handle one frame; `send` gets the response, now or later, or None if there is none.

        Returns what is parked, so that the connection can abandon it when it closes.
        """
        started_ms = self._clock.mono_ms()
        if len(frame) < _HEADER_START.size:
            self._refuse(send, "it is shorter than any header")
            return None
        key, version, correlation_id, length = _HEADER_START.unpack_from(frame)
        known = connection.known.get(key)
        repeated: Reply | Parked | Declined = DECLINED
        if known is not None:
            repeated = known.serve(version, frame)
            if not isinstance(repeated, Declined):
                route = self._routes[key, version]
                return self._answer(route, correlation_id, started_ms, send, repeated)
        try:
            position = 10
            client_id = ""
            if length > 0:
                position += length
                if position > len(frame):
                    raise wire.short("the client id")
                client_id = str(frame[10:position], "utf-8")
            route = self._routes.get((key, version)) or self._route(key, version)
            if route.has_flexible_request_header:
                position = _skip_tags(frame, position)
            request, _ = route.read(frame, position)
        except UnsupportedApiVersions:
            send(self._answer_unsupported_api_versions(correlation_id))
            return None
        except (ProtocolError, struct.error, IndexError, UnicodeDecodeError) as error:
            self._refuse(send, str(error))
            return None
        context = RequestContext(connection, version, client_id)
        parked = self._answer(
            route, correlation_id, started_ms, send, self._handle(route, context, request)
        )
        if route.learner is not None and repeated is not NOT_NOW:
            _learn(route.learner, context, route, request, frame, position)
        return parked

    def _refuse(self, send: Send, why: str) -> None:
        self._metrics.malformed += 1
        send(Close(f"malformed request: {why}"))

    def _answer(
        self,
        route: Route,
        correlation_id: int,
        started_ms: float,
        send: Send,
        reply: Reply | Parked,
    ) -> Parked | None:
        """Send a reply, or see to it that it will be sent."""
        if isinstance(reply, Parked):
            reply.when_done(partial(self._finish, route, correlation_id, started_ms, send))
            return reply
        self._finish(route, correlation_id, started_ms, send, reply)
        return None

    def _finish(
        self, route: Route, correlation_id: int, started_ms: float, send: Send, reply: Reply
    ) -> None:
        if isinstance(reply, bytes):
            send(_START.pack(len(reply) + 5, correlation_id, 0) + reply)
        elif isinstance(reply, Response):
            send(_encode_or_close(route, correlation_id, reply))
        elif isinstance(reply, Encoded):
            send(_framed(route, correlation_id, [b"", *reply.chunks]))
        else:
            send(reply)
        # The client waits for its answer, nobody for these figures.
        route.metrics.record(self._clock.mono_ms() - started_ms)
        find_errors = route.find_errors
        if find_errors is not None:
            response = reply.response if isinstance(reply, Encoded) else reply
            if isinstance(response, Response) and (codes := find_errors(response)):
                self._count_errors(route, codes)

    def _handle(self, route: Route, context: RequestContext, request: Any) -> Reply | Parked:
        needed = route.cluster_operation
        try:
            if needed is not None and not context.allows(
                needed, ResourceType.CLUSTER, CLUSTER_NAME
            ):
                raise KafkaError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
            return route.handler(context, request)
        except KafkaError as error:
            return error_response(route.api, route.version, request, error)
        except Exception:  # the edge of one request: log it, answer, and serve the others
            logger.exception("%s failed", route.api.key.name)
            unknown = KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
            return error_response(route.api, route.version, request, unknown)

    def _count_errors(self, route: Route, codes: list[int]) -> None:
        for code in codes:
            self._metrics.count_error(route.api.key, code)

    def _route(self, key: int, version: int) -> Route:
        api = self._table.get(key)
        if api is None:
            raise ProtocolError(f"API {key} is not served")
        if not api.version_min <= version <= api.version_max:
            if key == ApiKey.API_VERSIONS:
                raise UnsupportedApiVersions
            raise ProtocolError(f"version {version} of {api.key.name} is not served")
        route = Route(
            api,
            version,
            api.handler,
            api.access.operation if api.access.scope is Scope.CLUSTER else None,
            compiler.reader(api.request, version),
            compiler.writer(api.response, version),
            version in api.request.flexible,
            response_header_version(api.response, version) > 0,
            self._metrics.api(key, version),
            None if key in _COUNT_THEIR_ERRORS else error_finder(api.response),
            _learner(api, version),
        )
        self._routes[key, version] = route
        return route

    def _answer_unsupported_api_versions(self, correlation_id: int) -> bytes | Chunks | Close:
        """A client newer than we are gets version 0 of the answer, with our versions (KIP-511)."""
        route = self._routes.get((ApiKey.API_VERSIONS, 0)) or self._route(ApiKey.API_VERSIONS, 0)
        reply = ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
        own = route.api
        reply.api_keys = [
            ApiVersion(
                api_key=ApiKey.API_VERSIONS,
                min_version=own.listed_min,
                max_version=own.version_max,
            )
        ]
        return _encode_or_close(route, correlation_id, reply)


def _learner(api: Api, version: int) -> Learner | None:
    """Who learns requests of this version: their answers have the newer headers."""
    handler: object = api.handler
    return handler if isinstance(handler, Learner) and version in api.response.flexible else None


class UnsupportedApiVersions(Exception):
    """An ApiVersions request of a version that we do not know."""


def _skip_tags(frame: memoryview, position: int) -> int:
    """The tagged fields of a request header; none is known, and few are tolerated."""
    count = frame[position]
    position += 1
    if count == 0:
        return position
    count, position = wire.read_uvarint(frame, position - 1)
    if count > wire.UNKNOWN_TAGS_MAX:
        raise ProtocolError(f"{count} tagged fields in a request header")
    for _ in range(count):
        _, position = wire.read_uvarint(frame, position)
        size, position = wire.read_uvarint(frame, position)
        position += size
        if position > len(frame):
            raise wire.short("a tagged field")
    return position


def _encode_or_close(
    route: Route, correlation_id: int, response: Response
) -> bytes | Chunks | Close:
    """A response may be due in the middle of another client's request: it never raises there."""
    chunks: Chunks = [b""]
    try:
        route.write(response, chunks.append)
    except Exception:  # the edge of one request
        logger.exception("the response to %s cannot be written", route.api.key.name)
        return Close("the response cannot be written")
    return _framed(route, correlation_id, chunks)


def _framed(route: Route, correlation_id: int, chunks: Chunks) -> bytes | Chunks:
    """The first chunk is the place for the header."""
    size = sum(map(len, chunks))
    if route.has_flexible_response_header:
        chunks[0] = _START.pack(size + 5, correlation_id, 0)
    else:
        chunks[0] = _OLD_START.pack(size + 4, correlation_id)
    return b"".join(chunks) if size <= _JOIN_MAX else chunks


def _learn(
    learner: Learner,
    context: RequestContext,
    route: Route,
    request: Any,
    frame: memoryview,
    position: int,
) -> None:
    """Know a request that was served in the ordinary way, if it is worth it."""
    subject = learner.subject(request)
    if subject is None:
        return
    by_api = context.connection.known
    known_requests = by_api.get(route.api.key)
    if known_requests is None:
        known_requests = by_api[route.api.key] = KnownRequests()
    if not known_requests.is_repeated(subject):
        return
    start = start_of(frame, position)
    if start is not None:
        request, _ = route.read(frame, position)  # the handler may keep its own
        known = learner.learn(context, request, start)
        if known is not None and known.is_repeated_by(frame):
            known_requests.add(known)
