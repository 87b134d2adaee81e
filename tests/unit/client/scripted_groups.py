"""Scripts with which a `ScriptedBroker` coordinates groups: one group `g` with offsets."""

from __future__ import annotations

from typing import Any

from headrace.base.errors import ErrorCode
from headrace.protocol.apis import ApiKey
from headrace.protocol.messages import consumer_group_describe as consumer
from headrace.protocol.messages import describe_groups as classic
from headrace.protocol.messages import offset_fetch
from headrace.protocol.messages.find_coordinator import Coordinator, FindCoordinatorResponse
from headrace.protocol.messages.heartbeat import HeartbeatResponse
from headrace.protocol.messages.join_group import JoinGroupResponse, JoinGroupResponseMember
from headrace.protocol.messages.leave_group import LeaveGroupResponse
from headrace.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from headrace.protocol.messages.offset_commit import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from headrace.protocol.messages.sync_group import SyncGroupResponse
from tests.unit.client.scripted_broker import ScriptedBroker

#: What ListOffsets answers: the first offset, the end, and for any time.
FIRST, END, IN_BETWEEN = 3, 40, 20


def coordinate(broker: ScriptedBroker, offsets: dict[tuple[str, int], int]) -> None:
    """Answer for a classic group `g` without members that has committed these offsets."""
    scripts = broker.scripts
    scripts[ApiKey.FIND_COORDINATOR] = lambda request, _v: FindCoordinatorResponse(
        coordinators=[Coordinator(key=key, node_id=1) for key in request.coordinator_keys]
    )
    scripts[ApiKey.CONSUMER_GROUP_DESCRIBE] = lambda request, _v: _nobody(request)
    scripts[ApiKey.DESCRIBE_GROUPS] = lambda request, _v: classic.DescribeGroupsResponse(
        groups=[_described(group) for group in request.groups]
    )
    scripts[ApiKey.OFFSET_FETCH] = lambda request, _v: _fetched(request, offsets)
    scripts[ApiKey.OFFSET_COMMIT] = lambda request, _v: _committed(request)
    scripts[ApiKey.LIST_OFFSETS] = lambda request, _v: _listed(request)


def _nobody(request: Any) -> consumer.ConsumerGroupDescribeResponse:
    code = ErrorCode.GROUP_ID_NOT_FOUND
    rows = [consumer.DescribedGroup(group_id=g, error_code=code) for g in request.group_ids]
    return consumer.ConsumerGroupDescribeResponse(groups=rows)


def _described(group: str) -> classic.DescribedGroup:
    if group == "g":
        return classic.DescribedGroup(group_id="g", group_state="Empty", protocol_type="consumer")
    return classic.DescribedGroup(
        group_id=group,
        error_code=ErrorCode.GROUP_ID_NOT_FOUND,
        error_message=f"Group {group} not found.",
    )


def _fetched(request: Any, offsets: dict[tuple[str, int], int]) -> offset_fetch.OffsetFetchResponse:
    topics = [
        offset_fetch.OffsetFetchResponseTopics(
            name=topic,
            partitions=[
                offset_fetch.OffsetFetchResponsePartitions(
                    partition_index=index, committed_offset=offset, metadata=""
                )
            ],
        )
        for (topic, index), offset in offsets.items()
    ]
    group = request.groups[0].group_id
    row = offset_fetch.OffsetFetchResponseGroup(group_id=group, topics=topics)
    return offset_fetch.OffsetFetchResponse(groups=[row])


def _committed(request: Any) -> OffsetCommitResponse:
    rows = [
        OffsetCommitResponseTopic(
            name=topic.name,
            partitions=[
                OffsetCommitResponsePartition(partition_index=row.partition_index)
                for row in topic.partitions
            ],
        )
        for topic in request.topics
    ]
    return OffsetCommitResponse(topics=rows)


def _listed(request: Any) -> ListOffsetsResponse:
    special = {-2: FIRST, -1: END, 10**15: -1}
    rows = [
        ListOffsetsTopicResponse(
            name=topic.name,
            partitions=[
                ListOffsetsPartitionResponse(
                    partition_index=row.partition_index,
                    offset=special.get(row.timestamp, IN_BETWEEN),
                )
                for row in topic.partitions
            ],
        )
        for topic in request.topics
    ]
    return ListOffsetsResponse(topics=rows)


def coordinate_one_member(broker: ScriptedBroker) -> dict[tuple[str, int], int]:
    """Let one member at a time have the group; returns the offsets that it commits."""
    offsets: dict[tuple[str, int], int] = {}
    list_offsets = broker.scripts.get(ApiKey.LIST_OFFSETS)
    coordinate(broker, offsets)
    if list_offsets is not None:
        broker.scripts[ApiKey.LIST_OFFSETS] = list_offsets

    def join(request: Any, _version: int) -> JoinGroupResponse:
        metadata = request.protocols[0].metadata
        member = JoinGroupResponseMember(member_id="m", metadata=metadata)
        return JoinGroupResponse(
            generation_id=1, protocol_name="range", leader="m", member_id="m", members=[member]
        )

    def commit(request: Any, _version: int) -> OffsetCommitResponse:
        for topic in request.topics:
            for row in topic.partitions:
                offsets[topic.name, row.partition_index] = row.committed_offset
        return _committed(request)

    broker.scripts[ApiKey.JOIN_GROUP] = join
    broker.scripts[ApiKey.SYNC_GROUP] = lambda request, _v: SyncGroupResponse(
        assignment=request.assignments[0].assignment
    )
    broker.scripts[ApiKey.HEARTBEAT] = lambda _r, _v: HeartbeatResponse()
    broker.scripts[ApiKey.LEAVE_GROUP] = lambda _r, _v: LeaveGroupResponse()
    broker.scripts[ApiKey.OFFSET_COMMIT] = commit
    return offsets
