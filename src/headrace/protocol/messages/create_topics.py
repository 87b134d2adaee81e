"""CreateTopics (API key 19): creates topics with partitions, replicas and settings."""

from __future__ import annotations

from headrace.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    boolean,
    int8,
    int16,
    int32,
    string,
    uuid,
)


class CreatableReplicaAssignment(Struct):
    partition_index: int = int32()
    broker_ids: list[int] = array(int32)


class CreatableTopicConfig(Struct):
    name: str = string()
    value: str | None = string(null="0+")


class CreatableTopic(Struct):
    name: str = string()
    num_partitions: int = int32()
    replication_factor: int = int16()
    assignments: list[CreatableReplicaAssignment] = array(CreatableReplicaAssignment)
    configs: list[CreatableTopicConfig] = array(CreatableTopicConfig)


class CreateTopicsRequest(Request, key=19, versions="2-7", flexible="5+"):
    topics: list[CreatableTopic] = array(CreatableTopic)
    timeout_ms: int = int32(default=60000)
    validate_only: bool = boolean("1+")


class CreatableTopicConfigs(Struct):
    name: str = string("5+")
    value: str | None = string("5+", null="5+")
    read_only: bool = boolean("5+")
    config_source: int = int8("5+", default=-1)
    is_sensitive: bool = boolean("5+")


class CreatableTopicResult(Struct):
    name: str = string()
    topic_id: bytes = uuid("7+")
    error_code: int = int16()
    error_message: str | None = string("1+", null="0+")
    topic_config_error_code: int = int16("5+", tag=0)
    num_partitions: int = int32("5+", default=-1)
    replication_factor: int = int16("5+", default=-1)
    configs: list[CreatableTopicConfigs] | None = array(CreatableTopicConfigs, "5+", null="5+")


class CreateTopicsResponse(Response, key=19, versions="2-7", flexible="5+"):
    throttle_time_ms: int = int32("2+")
    topics: list[CreatableTopicResult] = array(CreatableTopicResult)
