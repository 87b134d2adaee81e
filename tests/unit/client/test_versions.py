"""Which version a client picks."""

from __future__ import annotations

import pytest

from headrace.base.errors import ErrorCode, KafkaError
from headrace.client.versions import NodeVersions, handshake_retry
from headrace.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from headrace.protocol.messages.fetch import FetchRequest
from headrace.protocol.messages.produce import ProduceRequest


def node(key: int, low: int, high: int) -> NodeVersions:
    row = ApiVersion(api_key=key, min_version=low, max_version=high)
    return NodeVersions(ApiVersionsResponse(api_keys=[row]))


def test_the_highest_version_that_both_know_is_picked() -> None:
    assert node(1, 0, 11).pick(FetchRequest) == 11
    assert node(1, 4, 99).pick(FetchRequest) == FetchRequest.versions.high
    assert node(1, 4, 18).pick(FetchRequest, high=12) == 12


@pytest.mark.parametrize(("low", "high"), [(0, 3), (90, 99)])
def test_no_common_version_is_told_with_the_name_of_the_api(low: int, high: int) -> None:
    with pytest.raises(KafkaError, match="does not support Fetch") as caught:
        node(1, low, high).pick(FetchRequest)
    assert caught.value.code is ErrorCode.UNSUPPORTED_VERSION


def test_an_api_that_the_node_does_not_list_is_not_supported() -> None:
    assert node(1, 4, 18).highest(ProduceRequest) is None


def test_a_version_below_what_a_request_needs_is_not_picked() -> None:
    with pytest.raises(KafkaError, match="Fetch in version 12 or newer"):
        node(1, 4, 11).pick(FetchRequest, low=12)


def test_the_handshake_is_tried_again_with_what_the_node_offers() -> None:
    offered = [ApiVersion(api_key=18, min_version=0, max_version=2)]
    refused = ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=offered)
    assert handshake_retry(refused) == 2
    assert handshake_retry(ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)) == 0
    assert handshake_retry(ApiVersionsResponse()) is None
