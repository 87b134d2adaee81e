"""DeleteShareGroupOffsets (API key 92): deletes the offsets of a share group (KIP-932)."""

from __future__ import annotations

from headrace.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    int16,
    int32,
    string,
    uuid,
)


class DeleteShareGroupOffsetsRequestTopic(Struct):
    topic_name: str = string()


class DeleteShareGroupOffsetsRequest(Request, key=92, versions="0", flexible="0+"):
    group_id: str = string()
    topics: list[DeleteShareGroupOffsetsRequestTopic] = array(DeleteShareGroupOffsetsRequestTopic)


class DeleteShareGroupOffsetsResponseTopic(Struct):
    topic_name: str = string()
    topic_id: bytes = uuid()
    error_code: int = int16()
    error_message: str | None = string(null="0+", default=None)


class DeleteShareGroupOffsetsResponse(Response, key=92, versions="0", flexible="0+"):
    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(null="0+", default=None)
    responses: list[DeleteShareGroupOffsetsResponseTopic] = array(
        DeleteShareGroupOffsetsResponseTopic
    )
