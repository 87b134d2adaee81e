"""ApiVersions: computed from the API table, so it cannot promise what is not served."""

from __future__ import annotations

import re
from collections.abc import Callable

from headrace.base.errors import ErrorCode
from headrace.broker.api_table import ApiTable
from headrace.broker.cluster_view import ClusterView
from headrace.broker.context import RequestContext
from headrace.metadata.features import SUPPORTED
from headrace.protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)

_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


class ApiVersionsHandler:
    """Serves API key 18."""

    def __init__(self, table: Callable[[], ApiTable], cluster: ClusterView) -> None:
        # The table holds this handler too, hence the detour.
        self._table = table
        self._cluster = cluster

    def __call__(self, context: RequestContext, request: ApiVersionsRequest) -> ApiVersionsResponse:
        if context.api_version >= 3 and not (
            _SOFTWARE.fullmatch(request.client_software_name)
            and _SOFTWARE.fullmatch(request.client_software_version)
        ):
            return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
        image = self._cluster.image
        return ApiVersionsResponse(
            api_keys=[
                ApiVersion(api_key=api.key, min_version=api.listed_min, max_version=api.version_max)
                for api in self._table()
            ],
            supported_features=[
                # Before version 4 a minimum of 0 was not allowed on the wire (KIP-1022).
                SupportedFeatureKey(name=name, min_version=low, max_version=high)
                for name, (low, high) in SUPPORTED.items()
                if low > 0 or context.api_version >= 4
            ],
            finalized_features_epoch=image.offset,
            finalized_features=[
                FinalizedFeatureKey(name=name, min_version_level=level, max_version_level=level)
                for name, level in sorted(image.features.items())
                if level > 0
            ],
        )
