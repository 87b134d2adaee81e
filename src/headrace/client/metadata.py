"""Which nodes a cluster has and where topics live, as a client sees it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from headrace.base.errors import ErrorCode
from headrace.client.connection import BlockingConnection
from headrace.client.errors import raise_for_code
from headrace.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)

#: DescribeCluster's endpoint types (KIP-919).
BROKERS, CONTROLLERS = 1, 2


@dataclass(frozen=True, slots=True)
class NodeAddress:
    """A node at the address that it advertises."""

    node_id: int
    host: str
    port: int
    rack: str | None = None

    @property
    def id_string(self) -> str:
        return str(self.node_id)

    def __str__(self) -> str:
        """As Kafka prints a node: `host:port (id: 1 rack: null isFenced: false)`."""
        return (
            f"{self.host}:{self.port} (id: {self.node_id} rack: {self.rack or 'null'}"
            " isFenced: false)"
        )


@dataclass(frozen=True, slots=True)
class ClusterView:
    """The nodes that answer requests: brokers, or controllers for a controller's client."""

    cluster_id: str | None
    controller_id: int
    nodes: dict[int, NodeAddress]


def ask_brokers(connection: BlockingConnection) -> ClusterView:
    """The brokers, from a Metadata request that names no topic."""
    answer = connection.call(
        MetadataRequest(topics=[], allow_auto_topic_creation=False), MetadataResponse
    )
    raise_for_code(answer.error_code)
    nodes = {b.node_id: NodeAddress(b.node_id, b.host, b.port, b.rack) for b in answer.brokers}
    return ClusterView(answer.cluster_id, answer.controller_id, nodes)


def ask_controllers(connection: BlockingConnection) -> ClusterView:
    """The controllers, from a controller."""
    from headrace.protocol.messages.describe_cluster import (
        DescribeClusterRequest,
        DescribeClusterResponse,
    )

    request = DescribeClusterRequest(endpoint_type=CONTROLLERS)
    answer = connection.call(request, DescribeClusterResponse)
    raise_for_code(answer.error_code, answer.error_message)
    nodes = {b.broker_id: NodeAddress(b.broker_id, b.host, b.port, b.rack) for b in answer.brokers}
    return ClusterView(answer.cluster_id, answer.controller_id, nodes)


def ask_topics(
    connection: BlockingConnection, names: Iterable[str] | None, *, create: bool = False
) -> MetadataResponse:
    """Metadata of the named topics, or of all; an error of one topic stays in its entry."""
    topics = None if names is None else [MetadataRequestTopic(name=name) for name in names]
    answer = connection.call(
        MetadataRequest(topics=topics, allow_auto_topic_creation=create), MetadataResponse
    )
    raise_for_code(answer.error_code)
    return answer


#: A topic in one of these states is being created: ask again.
NOT_READY = (ErrorCode.LEADER_NOT_AVAILABLE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
