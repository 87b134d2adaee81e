"""Requests that a broker has to refuse, or to answer with what is not there; by name."""

from __future__ import annotations

from headrace.protocol.messages import (
    create_partitions,
    create_topics,
    delete_records,
    delete_topics,
    describe_configs,
    describe_producers,
    describe_topic_partitions,
    fetch,
    incremental_alter_configs,
    list_offsets,
    metadata,
    offset_for_leader_epoch,
    produce,
)
from headrace.protocol.schema import Request
from tests.support.raw_producer import numbered_batch

#: Two partitions; ten records in the first one, leader epoch 0.
TOPIC = "asked-about"
_NO_TOPIC = "not-there"
_NO_ID = bytes(range(16))


def _produce(topic: str, index: int = 0, *, acks: int = -1, topic_id: bytes = bytes(16)) -> Request:
    data = produce.PartitionProduceData(index=index, records=bytes(numbered_batch(0, 1)))
    named = produce.TopicProduceData(name=topic, topic_id=topic_id, partition_data=[data])
    return produce.ProduceRequest(acks=acks, timeout_ms=1000, topic_data=[named])


def _fetch(
    topic: str,
    index: int = 0,
    offset: int = 0,
    *,
    epoch: int = -1,
    last_epoch: int = -1,
    topic_id: bytes = bytes(16),
    session: tuple[int, int] = (0, -1),
) -> Request:
    asked = fetch.FetchPartition(
        partition=index,
        fetch_offset=offset,
        current_leader_epoch=epoch,
        last_fetched_epoch=last_epoch,
        partition_max_bytes=1,
    )
    named = fetch.FetchTopic(topic=topic, topic_id=topic_id, partitions=[asked])
    return fetch.FetchRequest(
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=0,
        session_id=session[0],
        session_epoch=session[1],
        topics=[named],
    )


def _offsets(topic: str, index: int, timestamp: int, epoch: int = -1) -> Request:
    asked = list_offsets.ListOffsetsPartition(
        partition_index=index, timestamp=timestamp, current_leader_epoch=epoch
    )
    named = list_offsets.ListOffsetsTopic(name=topic, partitions=[asked])
    return list_offsets.ListOffsetsRequest(replica_id=-1, topics=[named], timeout_ms=1000)


def _epoch(topic: str, index: int, epoch: int, current: int = -1) -> Request:
    asked = offset_for_leader_epoch.OffsetForLeaderPartition(
        partition=index, leader_epoch=epoch, current_leader_epoch=current
    )
    named = offset_for_leader_epoch.OffsetForLeaderTopic(topic=topic, partitions=[asked])
    return offset_for_leader_epoch.OffsetForLeaderEpochRequest(replica_id=-2, topics=[named])


def _delete_records(topic: str, index: int, offset: int) -> Request:
    asked = delete_records.DeleteRecordsPartition(partition_index=index, offset=offset)
    named = delete_records.DeleteRecordsTopic(name=topic, partitions=[asked])
    return delete_records.DeleteRecordsRequest(topics=[named], timeout_ms=1000)


def _create(
    *names: str, partitions: int = 1, replicas: int = 1, assigned: list[list[int]] | None = None
) -> Request:
    topics = [
        create_topics.CreatableTopic(
            name=name,
            num_partitions=partitions,
            replication_factor=replicas,
            assignments=[
                create_topics.CreatableReplicaAssignment(partition_index=index, broker_ids=ids)
                for index, ids in enumerate(assigned or [])
            ],
        )
        for name in names
    ]
    return create_topics.CreateTopicsRequest(topics=topics, timeout_ms=1000, validate_only=True)


def _grow(topic: str, count: int, assigned: list[list[int]] | None = None) -> Request:
    lists = [create_partitions.CreatePartitionsAssignment(broker_ids=ids) for ids in assigned or []]
    named = create_partitions.CreatePartitionsTopic(
        name=topic, count=count, assignments=None if assigned is None else lists
    )
    return create_partitions.CreatePartitionsRequest(
        topics=[named], timeout_ms=1000, validate_only=True
    )


def _delete(name: str | None, topic_id: bytes = bytes(16)) -> Request:
    named = delete_topics.DeleteTopicState(name=name, topic_id=topic_id)
    return delete_topics.DeleteTopicsRequest(topics=[named], timeout_ms=1000)


def _alter(kind: int, name: str, *changes: tuple[str, int, str | None]) -> Request:
    configs = [
        incremental_alter_configs.AlterableConfig(name=key, config_operation=operation, value=value)
        for key, operation, value in changes
    ]
    resource = incremental_alter_configs.AlterConfigsResource(
        resource_type=kind, resource_name=name, configs=configs
    )
    return incremental_alter_configs.IncrementalAlterConfigsRequest(
        resources=[resource], validate_only=True
    )


def _describe(kind: int, name: str) -> Request:
    resource = describe_configs.DescribeConfigsResource(
        resource_type=kind, resource_name=name, configuration_keys=["retention.ms"]
    )
    return describe_configs.DescribeConfigsRequest(resources=[resource])


def _metadata(name: str | None, topic_id: bytes = bytes(16)) -> Request:
    asked = metadata.MetadataRequestTopic(name=name, topic_id=topic_id)
    return metadata.MetadataRequest(topics=[asked], allow_auto_topic_creation=False)


def _producers(topic: str, index: int) -> Request:
    asked = describe_producers.TopicRequest(name=topic, partition_indexes=[index])
    return describe_producers.DescribeProducersRequest(topics=[asked])


def _partitions(*topics: str, limit: int = 2000, cursor: tuple[str, int] | None = None) -> Request:
    start = None
    if cursor is not None:
        start = describe_topic_partitions.Cursor(topic_name=cursor[0], partition_index=cursor[1])
    return describe_topic_partitions.DescribeTopicPartitionsRequest(
        topics=[describe_topic_partitions.TopicRequest(name=name) for name in topics],
        response_partition_limit=limit,
        cursor=start,
    )


_TOPIC_CONFIG, _BROKER_CONFIG = 2, 4
_SET, _REMOVE, _APPEND = 0, 1, 2

#: Each with the version in which it is sent.
REQUESTS: dict[str, tuple[Request, int]] = {
    "produce to no topic": (_produce(_NO_TOPIC), 12),
    "produce to no partition": (_produce(TOPIC, 9), 12),
    "produce to partition -1": (_produce(TOPIC, -1), 12),
    "produce to no topic id": (_produce("", topic_id=_NO_ID), 13),
    "produce to the zero topic id": (_produce(""), 13),
    "produce with acks 5": (_produce(TOPIC, acks=5), 12),
    "fetch no topic": (_fetch(_NO_TOPIC), 12),
    "fetch no partition": (_fetch(TOPIC, 9), 12),
    "fetch no topic id": (_fetch("", topic_id=_NO_ID), 16),
    "fetch beyond the end": (_fetch(TOPIC, 0, 11), 12),
    "fetch far beyond the end": (_fetch(TOPIC, 0, 2**63 - 1), 12),
    "fetch below the start": (_fetch(TOPIC, 0, -1), 12),
    "fetch at the lowest offset": (_fetch(TOPIC, 0, -(2**63)), 12),
    "fetch in an epoch to come": (_fetch(TOPIC, 0, 0, epoch=99), 12),
    "fetch after an epoch to come": (_fetch(TOPIC, 0, 3, last_epoch=99), 12),
    "fetch in no session": (_fetch(TOPIC, session=(123, 4)), 12),
    "fetch in no session, epoch 0": (_fetch(TOPIC, session=(123, 0)), 12),
    "offsets of no topic": (_offsets(_NO_TOPIC, 0, -1), 10),
    "offsets of no partition": (_offsets(TOPIC, 9, -1), 10),
    "offsets in an epoch to come": (_offsets(TOPIC, 0, -1, 99), 10),
    "offsets at the end of time": (_offsets(TOPIC, 0, 2**63 - 1), 10),
    "offsets at the lowest time": (_offsets(TOPIC, 0, -(2**63)), 10),
    "offsets at no special time": (_offsets(TOPIC, 0, -42), 10),
    "end of an epoch of no topic": (_epoch(_NO_TOPIC, 0, 0), 4),
    "end of an epoch of no partition": (_epoch(TOPIC, 9, 0), 4),
    "end of an epoch to come": (_epoch(TOPIC, 0, 99), 4),
    "end of an epoch in an epoch to come": (_epoch(TOPIC, 0, 0, 99), 4),
    "end of epoch -1": (_epoch(TOPIC, 0, -1), 4),
    "delete records of no topic": (_delete_records(_NO_TOPIC, 0, 1), 2),
    "delete records of no partition": (_delete_records(TOPIC, 9, 1), 2),
    "delete records beyond the end": (_delete_records(TOPIC, 0, 99), 2),
    "delete records to offset -5": (_delete_records(TOPIC, 0, -5), 2),
    "create what is there": (_create(TOPIC), 7),
    "create twice": (_create("twice", "twice"), 7),
    "create a bad name": (_create("bad name"), 7),
    "create no name": (_create(""), 7),
    "create a name that collides": (_create(TOPIC.replace("-", ".") + "_x"), 7),
    "create no partitions": (_create("new", partitions=0), 7),
    "create -5 partitions": (_create("new", partitions=-5), 7),
    "create too many replicas": (_create("new", replicas=3), 7),
    "create replicas nowhere": (_create("new", partitions=-1, replicas=-1, assigned=[[99]]), 7),
    "create replicas twice": (_create("new", partitions=-1, replicas=-1, assigned=[[1, 1]]), 7),
    "create empty lists": (_create("new", partitions=-1, replicas=-1, assigned=[[]]), 7),
    "create uneven lists": (_create("new", partitions=-1, replicas=-1, assigned=[[1], [1, 2]]), 7),
    "create both ways": (_create("new", partitions=2, replicas=1, assigned=[[1], [1]]), 7),
    "grow no topic": (_grow(_NO_TOPIC, 5), 3),
    "grow to fewer": (_grow(TOPIC, 1), 3),
    "grow to as many": (_grow(TOPIC, 2), 3),
    "grow to -1": (_grow(TOPIC, -1), 3),
    "grow by too few lists": (_grow(TOPIC, 5, [[1]]), 3),
    "grow onto no broker": (_grow(TOPIC, 3, [[99]]), 3),
    "delete no topic": (_delete(_NO_TOPIC), 6),
    "delete no topic id": (_delete(None, _NO_ID), 6),
    "delete neither": (_delete(None), 6),
    "delete by both": (_delete(TOPIC, _NO_ID), 6),
    "alter no topic": (_alter(_TOPIC_CONFIG, _NO_TOPIC, ("retention.ms", _SET, "1")), 1),
    "alter no setting": (_alter(_TOPIC_CONFIG, TOPIC, ("no.such", _SET, "1")), 1),
    "alter to no number": (_alter(_TOPIC_CONFIG, TOPIC, ("retention.ms", _SET, "x")), 1),
    "alter to null": (_alter(_TOPIC_CONFIG, TOPIC, ("retention.ms", _SET, None)), 1),
    "append to a number": (_alter(_TOPIC_CONFIG, TOPIC, ("retention.ms", _APPEND, "1")), 1),
    "alter twice": (
        _alter(_TOPIC_CONFIG, TOPIC, ("retention.ms", _SET, "1"), ("retention.ms", _REMOVE, None)),
        1,
    ),
    "alter no kind of resource": (_alter(77, TOPIC, ("retention.ms", _SET, "1")), 1),
    "alter no broker": (_alter(_BROKER_CONFIG, "x", ("log.retention.ms", _SET, "1")), 1),
    "describe no topic's configs": (_describe(_TOPIC_CONFIG, _NO_TOPIC), 4),
    "describe a bad name's configs": (_describe(_TOPIC_CONFIG, "bad name"), 4),
    "describe another broker's configs": (_describe(_BROKER_CONFIG, "99"), 4),
    "describe no broker's configs": (_describe(_BROKER_CONFIG, "x"), 4),
    "describe no kind of resource": (_describe(77, TOPIC), 4),
    "metadata of no topic": (_metadata(_NO_TOPIC), 12),
    "metadata of a bad name": (_metadata("bad name"), 12),
    "metadata of no topic id": (_metadata(None, _NO_ID), 12),
    "producers of no topic": (_producers(_NO_TOPIC, 0), 0),
    "producers of no partition": (_producers(TOPIC, 9), 0),
    "partitions of no topic": (_partitions(_NO_TOPIC), 0),
    "partitions of a bad name": (_partitions("bad name"), 0),
    "partitions one by one": (_partitions(TOPIC, limit=1), 0),
    "partitions from a cursor": (_partitions(TOPIC, cursor=(TOPIC, 1)), 0),
    "partitions from a cursor before all": (_partitions(TOPIC, cursor=("a", 0)), 0),
    "partitions from partition -1": (_partitions(TOPIC, cursor=(TOPIC, -1)), 0),
}
