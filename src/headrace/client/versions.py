"""Which version of an API to speak with a node: the highest that both sides know."""

from __future__ import annotations

from headrace.base.errors import ErrorCode, KafkaError
from headrace.protocol.apis import ApiKey, api_name
from headrace.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from headrace.protocol.schema import Request


class NodeVersions:
    """What one node serves, as its ApiVersions answer says."""

    def __init__(self, response: ApiVersionsResponse) -> None:
        self.served = {row.api_key: (row.min_version, row.max_version) for row in response.api_keys}

    def pick(self, request: type[Request], low: int = 0, high: int | None = None) -> int:
        """The highest common version, at least `low` and at most `high`."""
        version = self.highest(request, high)
        if version is None or version < low:
            name = api_name(ApiKey(request.api_key))
            wanted = f" in version {low} or newer" if low else ""
            raise KafkaError(
                ErrorCode.UNSUPPORTED_VERSION, f"The broker does not support {name}{wanted}."
            )
        return version

    def highest(self, request: type[Request], high: int | None = None) -> int | None:
        """The highest common version, or None where there is none."""
        if request.api_key not in self.served:
            return None
        node_low, node_high = self.served[request.api_key]
        ours = request.versions
        low = max(node_low, ours.low)
        top = min(v for v in (node_high, ours.high, high) if v is not None)
        return top if low <= top else None


def handshake_retry(response: ApiVersionsResponse) -> int | None:
    """The version for a second ApiVersions request, or None if the first answer will do."""
    if response.error_code != ErrorCode.UNSUPPORTED_VERSION:
        return None
    return NodeVersions(response).highest(ApiVersionsRequest) or 0
