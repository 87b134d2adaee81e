"""ListConfigResources: everything that has settings, by kind (KIP-1142)."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker.cluster_view import ClusterView
from headrace.broker.context import RequestContext
from headrace.metadata.image import ConfigResource as Kind
from headrace.protocol.messages.list_config_resources import (
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)

#: In the order of the answer.
_KINDS = (Kind.GROUP, Kind.CLIENT_METRICS, Kind.BROKER_LOGGER, Kind.BROKER, Kind.TOPIC)


class ListConfigResourcesHandler:
    """Serves API key 74, which in version 0 was ListClientMetricsResources."""

    def __init__(self, cluster: ClusterView) -> None:
        self._cluster = cluster

    def __call__(
        self, context: RequestContext, request: ListConfigResourcesRequest
    ) -> ListConfigResourcesResponse:
        served = (Kind.CLIENT_METRICS,) if context.api_version == 0 else _KINDS
        asked = request.resource_types or served
        if not set(asked) <= set(served):
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
        return ListConfigResourcesResponse(
            config_resources=[
                ConfigResource(resource_name=name, resource_type=int(kind))
                for kind in _KINDS
                if kind in asked
                for name in self._names(context, kind)
            ]
        )

    def _names(self, context: RequestContext, kind: Kind) -> Iterable[str]:
        image = self._cluster.image
        if kind is Kind.TOPIC:
            return image.topics_by_name
        if kind in (Kind.BROKER, Kind.BROKER_LOGGER):
            brokers = self._cluster.brokers(context, include_fenced=True)
            return [str(broker.node_id) for broker in brokers]
        # Groups and subscriptions are known here by nothing but their settings.
        return [
            name for (known, name), configs in image.configs.items() if known == kind and configs
        ]
