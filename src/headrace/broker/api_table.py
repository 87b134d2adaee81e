"""The API table: which APIs are served, by which handler, and what a caller must be allowed.

ApiVersions, dispatch and authorisation are all computed from this one table, so nothing can be
listed that is not served, and nothing can be served that has no declared operation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

from headrace.broker.authorization import Operation, ResourceType
from headrace.broker.context import RequestContext
from headrace.broker.parked import Parked, Reply
from headrace.protocol.apis import ApiKey, message_classes
from headrace.protocol.schema import Request, Response

#: A handler answers at once or parks the request.
Handler = Callable[[RequestContext, Any], Reply | Parked]


class Scope(Enum):
    """Where the declared operation is checked."""

    #: By the dispatcher, on the cluster, before the handler runs.
    CLUSTER = "cluster"
    #: By the handler, for each topic, group or other resource that the request names.
    NAMED = "named"
    #: Nowhere: whoever may connect may ask.
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Access:
    """What a caller needs."""

    operation: Operation | None
    resource: ResourceType | None
    scope: Scope


OPEN = Access(None, None, Scope.OPEN)


def on_cluster(operation: Operation) -> Access:
    return Access(operation, ResourceType.CLUSTER, Scope.CLUSTER)


def on_each(operation: Operation, resource: ResourceType) -> Access:
    return Access(operation, resource, Scope.NAMED)


#: Versions that Kafka 4.3.1 has but does not offer, or offers but does not serve.
UNSTABLE_MAX = {ApiKey.INIT_PRODUCER_ID: 5}
#: Produce is listed from version 0 so that old librdkafka clients pick it at all (KIP-896).
LISTED_MIN = {ApiKey.PRODUCE: 0}


@dataclass(frozen=True, slots=True)
class Api:
    """One row of the table."""

    key: ApiKey
    request: type[Request]
    response: type[Response]
    handler: Handler
    access: Access
    version_min: int
    version_max: int

    @property
    def listed_min(self) -> int:
        return LISTED_MIN.get(self.key, self.version_min)


class ApiTable:
    """The served APIs by key."""

    def __init__(self, rows: Iterable[tuple[ApiKey, Access, Handler]]) -> None:
        self._rows: dict[int, Api] = {}
        for key, access, handler in rows:
            request, response = message_classes(key)
            high = request.versions.high
            assert high is not None  # noqa: S101 - every API has a newest version
            self._rows[key] = Api(
                key,
                request,
                response,
                handler,
                access,
                request.versions.low,
                min(high, UNSTABLE_MAX.get(key, high)),
            )

    def __iter__(self) -> Iterator[Api]:
        return iter(sorted(self._rows.values(), key=lambda api: api.key))

    def get(self, key: int) -> Api | None:
        return self._rows.get(key)
