"""The cluster as a client of this node shall see it: the current image, and reachable addresses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from headrace.broker.config import BrokerConfig
from headrace.broker.context import RequestContext
from headrace.metadata.image import BrokerImage, MetadataImage


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
            address = self._address(context, broker)
            if address is not None:
                found.append(address)
        return found

    def _address(self, context: RequestContext, broker: BrokerImage) -> Address | None:
        connection = context.connection
        if broker.broker_id == self._config.node_id:
            # With nothing advertised, the address that the client just used is the one that
            # surely works for it; a host name of ours might not.
            host, port = self._config.advertised_address(connection.listener) or (
                connection.local_host,
                connection.local_port,
            )
            return Address(broker.broker_id, host, port, broker.rack, broker.fenced)
        for endpoint in broker.endpoints:
            if endpoint.listener == connection.listener:
                return Address(
                    broker.broker_id, endpoint.host, endpoint.port, broker.rack, broker.fenced
                )
        return None
