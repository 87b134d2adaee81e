"""DescribeCluster: the nodes of one kind, brokers or controllers (KIP-700, KIP-919, KIP-1073)."""

from __future__ import annotations

from collections.abc import Callable

from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker.authorization import CLUSTER_NAME, Operation, ResourceType
from headrace.broker.cluster_view import Address, ClusterView
from headrace.broker.context import RequestContext
from headrace.protocol.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)

BROKERS = 1
CONTROLLERS = 2
_NAMES = {BROKERS: "brokers", CONTROLLERS: "controllers"}
_NOBODY = -1


class DescribeClusterHandler:
    """Serves API key 60, on a broker's listeners or, with `quorum_leader`, on a controller's."""

    def __init__(
        self, cluster: ClusterView, quorum_leader: Callable[[], int] | None = None
    ) -> None:
        self._cluster = cluster
        self._quorum_leader = quorum_leader
        self._endpoint_type = BROKERS if quorum_leader is None else CONTROLLERS

    def __call__(
        self, context: RequestContext, request: DescribeClusterRequest
    ) -> DescribeClusterResponse:
        self._check_endpoint_type(request.endpoint_type, context.api_version)
        nodes = self._nodes(context, request)
        return DescribeClusterResponse(
            endpoint_type=self._endpoint_type,
            cluster_id=self._cluster.cluster_id,
            controller_id=self._controller_id(nodes),
            brokers=[
                DescribeClusterBroker(
                    broker_id=node.node_id,
                    host=node.host,
                    port=node.port,
                    rack=node.rack,
                    is_fenced=node.fenced,
                )
                for node in nodes
            ],
            cluster_authorized_operations=_operations(context, request),
        )

    def _check_endpoint_type(self, asked: int, version: int) -> None:
        if asked == self._endpoint_type:
            return
        if asked in _NAMES:
            code = ErrorCode.MISMATCHED_ENDPOINT_TYPE
            message = f"This listener describes {_NAMES[self._endpoint_type]}, not {_NAMES[asked]}."
        else:
            code = ErrorCode.UNSUPPORTED_ENDPOINT_TYPE
            message = f"There is no endpoint type {asked}."
        # Version 0 had no endpoint types, so it has no errors about them either.
        raise KafkaError(ErrorCode.INVALID_REQUEST if version == 0 else code, message)

    def _nodes(self, context: RequestContext, request: DescribeClusterRequest) -> list[Address]:
        if self._endpoint_type == CONTROLLERS:
            return self._cluster.controllers(context)
        return self._cluster.brokers(context, include_fenced=request.include_fenced_brokers)

    def _controller_id(self, nodes: list[Address]) -> int:
        if self._quorum_leader is not None:
            leader = self._quorum_leader()
            return leader if any(node.node_id == leader for node in nodes) else _NOBODY
        # Any broker will do: it forwards to the real controller (KIP-590).
        return next((node.node_id for node in nodes if not node.fenced), _NOBODY)


def _operations(context: RequestContext, request: DescribeClusterRequest) -> int:
    if not request.include_cluster_authorized_operations:
        return -(2**31)
    if not context.allows(Operation.DESCRIBE, ResourceType.CLUSTER, CLUSTER_NAME):
        return 0
    return context.authorized_operations(ResourceType.CLUSTER)
