"""The requests of a scenario, from words like `beat member=a epoch=0 topics=t`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.groups.consumer.describing import DescribeConsumerGroups
from headrace.groups.inventory import DeleteGroups, DescribeGroups, ListGroups
from headrace.groups.offset_reads import FetchOffsets
from headrace.protocol.compiler import encode
from headrace.protocol.embedded import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    ConsumerProtocolSubscriptionTopicPartition,
    TopicPartition,
)
from headrace.protocol.messages import (
    heartbeat,
    join_group,
    leave_group,
    offset_commit,
    offset_fetch,
    sync_group,
)
from headrace.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    TopicPartitions,
)
from tests.unit.groups.consumer.world import Topics
from tests.unit.groups.story_requests import Words

Made = tuple[Any, int]


def partitions_of(text: str) -> list[tuple[str, list[int]]]:
    """`t:0,1/u:2` is partitions 0 and 1 of t, and 2 of u; `nothing` is nothing."""
    if text == "nothing":
        return []
    topics = (one.split(":") for one in text.split("/"))
    return [(name, [int(index) for index in indexes.split(",")]) for name, indexes in topics]


def _beat(words: Words, topics: Topics) -> Made:
    """An incremental heartbeat unless it says more; with `epoch=0` what a join must say."""
    epoch = words.number("epoch")
    names = words.text("topics", None)
    owns = words.text("owns", "nothing" if epoch == 0 else None)
    owned = None
    if owns is not None:
        owned = []
        for name, indexes in partitions_of(owns):
            view = topics.named(name)
            topic_id = name.encode().ljust(16, b"-") if view is None else view.topic_id
            owned.append(TopicPartitions(topic_id=topic_id, partitions=indexes))
    request = ConsumerGroupHeartbeatRequest(
        group_id=words.text("group", "g"),
        member_id=words.text("member", ""),
        member_epoch=epoch,
        instance_id=words.text("instance", None),
        rack_id=words.text("rack", None),
        rebalance_timeout_ms=words.number("rebalance", 60_000 if epoch == 0 else -1),
        subscribed_topic_names=None if names is None else [one for one in names.split(",") if one],
        subscribed_topic_regex=words.text("regex", None),
        server_assignor=words.text("assignor", None),
        topic_partitions=owned,
    )
    return request, words.number("version", 1)


def _join(words: Words, topics: Topics) -> Made:
    subscription = ConsumerProtocolSubscription(
        topics=words.several("topics", "t"),
        owned_partitions=[
            ConsumerProtocolSubscriptionTopicPartition(topic=name, partitions=indexes)
            for name, indexes in partitions_of(words.text("owns", "nothing"))
        ],
    )
    request = join_group.JoinGroupRequest(
        group_id=words.text("group", "g"),
        session_timeout_ms=words.number("session", 10_000),
        rebalance_timeout_ms=words.number("rebalance", 30_000),
        member_id=words.text("member", ""),
        group_instance_id=words.text("instance", None),
        protocol_type=words.text("type", "consumer"),
        protocols=[
            join_group.JoinGroupRequestProtocol(
                name=name, metadata=b"\0\1" + encode(subscription, 1)
            )
            for name in words.several("protocols", "range")
        ],
    )
    return request, words.number("version", 9)


def _sync(words: Words, topics: Topics) -> Made:
    """`assign=a=t:0,1;b=t:2` is what a leader brings."""
    assignments = []
    for one in words.text("assign", "").split(";"):
        if one:
            member, owns = one.split("=")
            assignment = ConsumerProtocolAssignment(
                assigned_partitions=[
                    TopicPartition(topic=name, partitions=indexes)
                    for name, indexes in partitions_of(owns)
                ]
            )
            assignments.append(
                sync_group.SyncGroupRequestAssignment(
                    member_id=member, assignment=b"\0\1" + encode(assignment, 1)
                )
            )
    request = sync_group.SyncGroupRequest(
        group_id=words.text("group", "g"),
        generation_id=words.number("generation"),
        member_id=words.text("member"),
        group_instance_id=words.text("instance", None),
        protocol_type="consumer",
        protocol_name=words.text("protocol", "range"),
        assignments=assignments,
    )
    return request, 5


def _heartbeat(words: Words, topics: Topics) -> Made:
    request = heartbeat.HeartbeatRequest(
        group_id=words.text("group", "g"),
        generation_id=words.number("generation"),
        member_id=words.text("member"),
        group_instance_id=words.text("instance", None),
    )
    return request, 4


def _leave(words: Words, topics: Topics) -> Made:
    members = [leave_group.MemberIdentity(member_id=one) for one in words.several("members")]
    members += [
        leave_group.MemberIdentity(group_instance_id=one) for one in words.several("instances")
    ]
    return leave_group.LeaveGroupRequest(group_id=words.text("group", "g"), members=members), 5


def _commit(words: Words, topics: Topics) -> Made:
    """`of=t-0:5` is offset 5 of partition 0 of t."""
    request = offset_commit.OffsetCommitRequest(
        group_id=words.text("group", "g"),
        generation_id_or_member_epoch=words.number("epoch", -1),
        member_id=words.text("member", ""),
    )
    for one in words.several("of"):
        place, offset = one.split(":")
        name, index = place.rsplit("-", 1)
        view = topics.named(name)
        assert view is not None
        request.topics.append(
            offset_commit.OffsetCommitRequestTopic(
                name=name,
                topic_id=view.topic_id,
                partitions=[
                    offset_commit.OffsetCommitRequestPartition(
                        partition_index=int(index), committed_offset=int(offset)
                    )
                ],
            )
        )
    return request, words.number("version", 9)


def _fetch(words: Words, topics: Topics) -> Made:
    group = offset_fetch.OffsetFetchRequestGroup(
        group_id=words.text("group", "g"),
        member_id=words.text("member", None),
        member_epoch=words.number("epoch", -1),
        topics=None,
    )
    return FetchOffsets(group, False), 9


def _describe(words: Words, topics: Topics) -> Made:
    return DescribeConsumerGroups(words.several("groups", "g")), 1


def _describe_classic(words: Words, topics: Topics) -> Made:
    return DescribeGroups(words.several("groups", "g")), 6


def _list(words: Words, topics: Topics) -> Made:
    return ListGroups(frozenset(), frozenset(words.several("types"))), 5


def _delete(words: Words, topics: Topics) -> Made:
    return DeleteGroups(words.several("groups", "g")), 2


REQUESTS: dict[str, Callable[[Words, Topics], Made]] = {
    "beat": _beat,
    "join": _join,
    "sync": _sync,
    "heartbeat": _heartbeat,
    "leave": _leave,
    "commit": _commit,
    "fetch": _fetch,
    "describe": _describe,
    "describe-classic": _describe_classic,
    "list": _list,
    "delete": _delete,
}
