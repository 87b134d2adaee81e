"""The cluster as a client of this node shall see it: the current image, and reachable addresses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from headrace.broker.config import BrokerConfig
from headrace.broker.context import RequestContext
from headrace.metadata.image import EndpointImage, MetadataImage


class ImageSource(Protocol):
    """Who holds the newest committed image."""

    @property
    def image(self) -> MetadataImage: ...


@dataclass(frozen=True, slots=True)
class Address:
    """Where a client reaches a node."""

    node_id: int
    host: str
    port: int
    rack: str | None
    fenced: bool


class ClusterView:
    """Reads the image; tells addresses the same way everywhere."""

    def __init__(self, source: ImageSource, config: BrokerConfig) -> None:
        self._source = source
        self._config = config

    @property
    def image(self) -> MetadataImage:
        return self._source.image

    @property
    def cluster_id(self) -> str:
        return self._config.cluster_id

    @property
    def node_id(self) -> int:
        return self._config.node_id

    def brokers(self, context: RequestContext, *, include_fenced: bool = False) -> list[Address]:
        """The brokers that serve the listener which the client came through."""
        found = []
        for broker in self.image.brokers.values():
            if broker.fenced and not include_fenced:
                continue
            reached = self._reached(context, broker.broker_id, broker.endpoints)
            if reached is not None:
                found.append(Address(broker.broker_id, *reached, broker.rack, broker.fenced))
        return found

    def controllers(self, context: RequestContext) -> list[Address]:
        """The registered controllers that serve the listener which the client came through."""
        found = []
        for controller in self.image.controllers.values():
            reached = self._reached(context, controller.controller_id, controller.endpoints)
            if reached is not None:
                found.append(Address(controller.controller_id, *reached, None, False))
        return found

    def listeners_of(
        self, context: RequestContext, node_id: int, listeners: Iterable[tuple[str, str, int]]
    ) -> Iterator[tuple[str, str, int]]:
        """Name, host and port of a node's listeners, also of those that the client did not use.

        One of ours that has no host of its own is where the client reached this node.
        """
        for name, host, port in listeners:
            is_unknown = node_id == self._config.node_id and name in self._config.without_host
            yield name, context.connection.local_host if is_unknown else host, port

    def _reached(
        self, context: RequestContext, node_id: int, endpoints: tuple[EndpointImage, ...]
    ) -> tuple[str, int] | None:
        connection = context.connection
        if node_id == self._config.node_id:
            # With nothing advertised, the address that the client just used is the one that
            # surely works for it; a host name of ours might not.
            return self._config.advertised_address(connection.listener) or (
                connection.local_host,
                connection.local_port,
            )
        for endpoint in endpoints:
            if endpoint.listener == connection.listener:
                return endpoint.host, endpoint.port
        return None
