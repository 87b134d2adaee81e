"""ApiVersions (API key 18): which APIs and versions the node serves, and the cluster's features.

Version 3 brought the client's name and version (KIP-511) and features (KIP-584). A node
answers a version that it does not know with version 0 and UNSUPPORTED_VERSION.
"""

from __future__ import annotations

from headrace.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    boolean,
    int16,
    int32,
    int64,
    string,
)


class ApiVersionsRequest(Request, key=18, versions="0-4", flexible="3+"):
    client_software_name: str = string("3+")
    client_software_version: str = string("3+")


class ApiVersion(Struct):
    api_key: int = int16()
    min_version: int = int16()
    max_version: int = int16()


class SupportedFeatureKey(Struct):
    name: str = string("3+")
    min_version: int = int16("3+")
    max_version: int = int16("3+")


class FinalizedFeatureKey(Struct):
    name: str = string("3+")
    max_version_level: int = int16("3+")
    min_version_level: int = int16("3+")


class ApiVersionsResponse(Response, key=18, versions="0-4", flexible="3+"):
    error_code: int = int16()
    api_keys: list[ApiVersion] = array(ApiVersion)
    throttle_time_ms: int = int32("1+")
    supported_features: list[SupportedFeatureKey] = array(SupportedFeatureKey, "3+", tag=0)
    finalized_features_epoch: int = int64("3+", tag=1, default=-1)
    finalized_features: list[FinalizedFeatureKey] = array(FinalizedFeatureKey, "3+", tag=2)
    zk_migration_ready: bool = boolean("3+", tag=3)
