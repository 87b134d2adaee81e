"""OffsetFetch before version 8 asked for one group; here it becomes the later form and back."""

from __future__ import annotations

from headrace.base.errors import ErrorCode
from headrace.groups.offset_reads import NO_OFFSET
from headrace.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)

_MANY_GROUPS_SINCE = 8
#: Before this version there is no error but that of a partition.
_GROUP_ERROR_SINCE = 2


def asked_groups(request: OffsetFetchRequest, version: int) -> list[OffsetFetchRequestGroup]:
    if version >= _MANY_GROUPS_SINCE:
        return request.groups
    topics = None
    if request.topics is not None:
        topics = [
            OffsetFetchRequestTopics(name=topic.name, partition_indexes=topic.partition_indexes)
            for topic in request.topics
        ]
    return [OffsetFetchRequestGroup(group_id=request.group_id, topics=topics)]


def named_once(
    groups: list[OffsetFetchRequestGroup],
) -> tuple[list[OffsetFetchRequestGroup], list[OffsetFetchRequestGroup]]:
    """What is asked of each group first, and entries that ask something else of it again."""
    first: dict[str, OffsetFetchRequestGroup] = {}
    contradictory = []
    for group in groups:
        known = first.setdefault(group.group_id, group)
        if known is not group and not _is_the_same(known, group):
            contradictory.append(group)
    return list(first.values()), contradictory


def _is_the_same(one: OffsetFetchRequestGroup, other: OffsetFetchRequestGroup) -> bool:
    return (
        one.topics == other.topics
        and one.member_id == other.member_id
        and one.member_epoch == other.member_epoch
    )


def refused_group(
    group: OffsetFetchRequestGroup, error: ErrorCode, version: int
) -> OffsetFetchResponseGroup:
    """An error that concerns all of a group."""
    if version >= _GROUP_ERROR_SINCE:
        return OffsetFetchResponseGroup(group_id=group.group_id, error_code=int(error))
    return OffsetFetchResponseGroup(
        group_id=group.group_id,
        topics=[
            OffsetFetchResponseTopics(
                name=topic.name,
                partitions=[absent(index, error) for index in topic.partition_indexes],
            )
            for topic in group.topics or ()
        ],
    )


def absent(partition: int, error: ErrorCode) -> OffsetFetchResponsePartitions:
    return OffsetFetchResponsePartitions(
        partition_index=partition,
        committed_offset=NO_OFFSET,
        metadata="",
        error_code=int(error),
    )


def response_of(groups: list[OffsetFetchResponseGroup], version: int) -> OffsetFetchResponse:
    if version >= _MANY_GROUPS_SINCE:
        return OffsetFetchResponse(groups=groups)
    (group,) = groups
    return OffsetFetchResponse(
        error_code=group.error_code,
        topics=[
            OffsetFetchResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetFetchResponsePartition(
                        partition_index=one.partition_index,
                        committed_offset=one.committed_offset,
                        committed_leader_epoch=one.committed_leader_epoch,
                        metadata=one.metadata,
                        error_code=one.error_code,
                    )
                    for one in topic.partitions
                ],
            )
            for topic in group.topics
        ],
    )
