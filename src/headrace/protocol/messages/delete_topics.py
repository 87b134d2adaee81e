"""DeleteTopics (API key 20): deletes topics by name, or by id since version 6."""

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


class DeleteTopicState(Struct):
    name: str | None = string("6+", null="6+", default=None)
    topic_id: bytes = uuid("6+")


class DeleteTopicsRequest(Request, key=20, versions="1-6", flexible="4+"):
    topics: list[DeleteTopicState] = array(DeleteTopicState, "6+")
    topic_names: list[str] = array(string, "0-5")
    timeout_ms: int = int32()


class DeletableTopicResult(Struct):
    name: str | None = string(null="6+")
    topic_id: bytes = uuid("6+")
    error_code: int = int16()
    error_message: str | None = string("5+", null="5+", default=None)


class DeleteTopicsResponse(Response, key=20, versions="1-6", flexible="4+"):
    throttle_time_ms: int = int32("1+")
    responses: list[DeletableTopicResult] = array(DeletableTopicResult)
