"""What a handler knows about the request besides its fields."""

from __future__ import annotations

from dataclasses import dataclass, field

from headrace.broker.authorization import (
    CLUSTER_NAME,
    RESOURCE_OPERATIONS,
    Authorizer,
    Operation,
    Principal,
    ResourceType,
)
from headrace.broker.known_requests import KnownRequests


@dataclass(slots=True)
class ConnectionInfo:
    """One client's connection: who it is, and which of our addresses it reached."""

    principal: Principal
    authorizer: Authorizer
    listener: str
    client_host: str
    client_port: int
    #: The address and port of ours that accepted the connection.
    local_host: str
    local_port: int
    #: Records of this many bytes or more may stay in their file until they are sent.
    lazy_records_from: int = 1 << 62
    #: What this client repeats, by API key.
    known: dict[int, KnownRequests] = field(default_factory=dict)


@dataclass(slots=True)
class RequestContext:
    """One request of a connection."""

    connection: ConnectionInfo
    api_version: int
    client_id: str

    def allows(self, operation: Operation, resource: ResourceType, name: str) -> bool:
        """Whether the sender may do `operation` on the named resource."""
        connection = self.connection
        return connection.authorizer.allows(
            connection.principal, connection.client_host, operation, resource, name
        )

    @property
    def shown_host(self) -> str:
        """The client's address as Kafka's groups show it: with a slash in front, as Java does."""
        return f"/{self.connection.client_host}"

    def may_describe(self, topic: str) -> bool:
        """Whether the sender may know of a topic."""
        return self.allows(Operation.DESCRIBE, ResourceType.TOPIC, topic)

    def allows_any(self, operation: Operation, resource: ResourceType) -> bool:
        """Whether the sender may do `operation` on some resource of this type (KIP-679)."""
        connection = self.connection
        return connection.authorizer.allows_any(
            connection.principal, connection.client_host, operation, resource
        )

    def authorized_operations(self, resource: ResourceType, name: str = CLUSTER_NAME) -> int:
        """The bit field of allowed operations that describe requests return (KIP-430)."""
        bits = 0
        for operation in RESOURCE_OPERATIONS[resource]:
            if self.allows(operation, resource, name):
                bits |= 1 << operation
        return bits
