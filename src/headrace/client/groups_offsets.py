"""The offsets that groups have committed: read, set and deleted from outside the group."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from headrace.base.errors import KafkaError
from headrace.client.blocking import RETRIED, KafkaClient
from headrace.client.connection import BlockingConnection
from headrace.client.errors import error_for_code, raise_for_code
from headrace.client.groups import ask_coordinator
from headrace.client.leaders import TopicPartition
from headrace.protocol.messages import offset_fetch
from headrace.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from headrace.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)

#: The last versions that name topics; later ones need their ids.
_FETCH_BY_NAME_MAX = 9
_COMMIT_BY_NAME_MAX = 9
_FETCH_MANY_GROUPS = 8


class CommittedOffset(NamedTuple):
    """What a group has committed for a partition; a leader epoch of -1 is none."""

    offset: int
    leader_epoch: int = -1
    metadata: str = ""


class Membership(NamedTuple):
    """As whom to commit; the default is nobody, which a group without members allows."""

    member_id: str = ""
    generation: int = -1
    instance_id: str | None = None


OUTSIDE = Membership()


def committed_offsets(
    client: KafkaClient, group: str, *, require_stable: bool = False
) -> dict[TopicPartition, CommittedOffset]:
    """All offsets of a group."""

    def ask(node: BlockingConnection) -> dict[TopicPartition, CommittedOffset]:
        version = node.versions.pick(offset_fetch.OffsetFetchRequest, high=_FETCH_BY_NAME_MAX)
        if version < _FETCH_MANY_GROUPS:
            request = offset_fetch.OffsetFetchRequest(group_id=group, topics=None)
        else:
            row = offset_fetch.OffsetFetchRequestGroup(group_id=group, topics=None)
            request = offset_fetch.OffsetFetchRequest(groups=[row])
        request.require_stable = require_stable
        answer = node.call(request, offset_fetch.OffsetFetchResponse, version=version)
        if version < _FETCH_MANY_GROUPS:
            raise_for_code(answer.error_code)
            return _committed(answer.topics)
        for found in answer.groups:
            raise_for_code(found.error_code)
        return _committed([topic for found in answer.groups for topic in found.topics])

    return ask_coordinator(client, group, ask)


def _committed(
    topics: Iterable[
        offset_fetch.OffsetFetchResponseTopic | offset_fetch.OffsetFetchResponseTopics
    ],
) -> dict[TopicPartition, CommittedOffset]:
    offsets = {}
    for topic in topics:
        for row in topic.partitions:
            if row.error_code in RETRIED:
                raise error_for_code(row.error_code)
            if not row.error_code and row.committed_offset >= 0:
                offsets[topic.name, row.partition_index] = CommittedOffset(
                    row.committed_offset, row.committed_leader_epoch, row.metadata or ""
                )
    return offsets


def commit_offsets(
    client: KafkaClient,
    group: str,
    offsets: Mapping[TopicPartition, CommittedOffset],
    membership: Membership = OUTSIDE,
) -> None:
    """Commit offsets, or raise the first error among them."""
    topics: dict[str, list[OffsetCommitRequestPartition]] = {}
    for (topic, index), committed in offsets.items():
        topics.setdefault(topic, []).append(
            OffsetCommitRequestPartition(
                partition_index=index,
                committed_offset=committed.offset,
                committed_leader_epoch=committed.leader_epoch,
                committed_metadata=committed.metadata,
            )
        )
    request = OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=membership.generation,
        member_id=membership.member_id,
        group_instance_id=membership.instance_id,
        topics=[OffsetCommitRequestTopic(name=name, partitions=p) for name, p in topics.items()],
    )

    def ask(node: BlockingConnection) -> None:
        version = node.versions.pick(OffsetCommitRequest, high=_COMMIT_BY_NAME_MAX)
        answer = node.call(request, OffsetCommitResponse, version=version)
        for topic in answer.topics:
            for row in topic.partitions:
                raise_for_code(row.error_code)

    if offsets:
        ask_coordinator(client, group, ask)


def delete_offsets(
    client: KafkaClient, group: str, partitions: Iterable[TopicPartition]
) -> dict[TopicPartition, KafkaError | None]:
    """Delete offsets; what went wrong with each partition. An error of the group is raised."""
    topics: dict[str, list[OffsetDeleteRequestPartition]] = {}
    for topic, index in partitions:
        row = OffsetDeleteRequestPartition(partition_index=index)
        topics.setdefault(topic, []).append(row)
    request = OffsetDeleteRequest(
        group_id=group,
        topics=[OffsetDeleteRequestTopic(name=name, partitions=p) for name, p in topics.items()],
    )

    def ask(node: BlockingConnection) -> dict[TopicPartition, KafkaError | None]:
        answer = node.call(request, OffsetDeleteResponse)
        raise_for_code(answer.error_code)
        return {
            (topic.name, row.partition_index): error_for_code(row.error_code)
            if row.error_code
            else None
            for topic in answer.topics
            for row in topic.partitions
        }

    return ask_coordinator(client, group, ask)
