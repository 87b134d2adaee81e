"""The requests that a story can make, from words like `join group=g client=alice`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from headrace.base.uuids import ZERO_UUID
from headrace.groups.inventory import DeleteGroups, DescribeGroups, ListGroups
from headrace.groups.offset_reads import FetchOffsets
from headrace.protocol.compiler import encode
from headrace.protocol.embedded import ConsumerProtocolSubscription
from headrace.protocol.messages import (
    heartbeat,
    join_group,
    leave_group,
    offset_commit,
    offset_delete,
    offset_fetch,
    sync_group,
    txn_offset_commit,
)

_MISSING = object()


@dataclass
class Words:
    """A command and its `name=value` pairs; each must be used."""

    command: str
    pairs: dict[str, str]
    used: set[str] = field(default_factory=set)

    @classmethod
    def parse(cls, line: str) -> Words:
        command, *rest = line.split()
        return cls(command, dict(word.split("=", 1) for word in rest))

    def text(self, name: str, default: Any = _MISSING) -> Any:
        self.used.add(name)
        if name not in self.pairs and default is not _MISSING:
            return default
        return self.pairs[name]

    def number(self, name: str, default: Any = _MISSING) -> int:
        return int(self.text(name, default))

    def several(self, name: str, default: str = "") -> list[str]:
        return [one for one in self.text(name, default).split(",") if one]

    def rest(self) -> dict[str, str]:
        self.used |= self.pairs.keys()
        return dict(self.pairs)

    def check_all_used(self) -> None:
        assert self.used >= self.pairs.keys(), f"{self.pairs.keys() - self.used} mean nothing"


Made = tuple[Any, int]


def _join(words: Words, topics: Any) -> Made:
    kind = words.text("type", "consumer")
    subscription = ConsumerProtocolSubscription(topics=words.several("topics", "t"))
    metadata = b"\0\0" + encode(subscription, 0) if kind == "consumer" else b"opaque"
    request = join_group.JoinGroupRequest(
        group_id=words.text("group", "g"),
        session_timeout_ms=words.number("session", 10_000),
        rebalance_timeout_ms=words.number("rebalance", 30_000),
        member_id=words.text("member", ""),
        group_instance_id=words.text("instance", None),
        protocol_type=kind,
        protocols=[
            join_group.JoinGroupRequestProtocol(name=name, metadata=metadata)
            for name in words.several("protocols", "range")
        ],
    )
    return request, words.number("version", 9)


def _sync(words: Words, topics: Any) -> Made:
    given = [one.split(":") for one in words.several("assign")]
    request = sync_group.SyncGroupRequest(
        group_id=words.text("group", "g"),
        generation_id=words.number("generation"),
        member_id=words.text("member"),
        group_instance_id=words.text("instance", None),
        protocol_type=words.text("type", "consumer"),
        protocol_name=words.text("protocol", "range"),
        assignments=[
            sync_group.SyncGroupRequestAssignment(member_id=member, assignment=what.encode())
            for member, what in given
        ],
    )
    return request, 5


def _heartbeat(words: Words, topics: Any) -> Made:
    request = heartbeat.HeartbeatRequest(
        group_id=words.text("group", "g"),
        generation_id=words.number("generation"),
        member_id=words.text("member"),
        group_instance_id=words.text("instance", None),
    )
    return request, 4


def _leave(words: Words, topics: Any) -> Made:
    members = [leave_group.MemberIdentity(member_id=one) for one in words.several("members")]
    members += [
        leave_group.MemberIdentity(group_instance_id=one) for one in words.several("instances")
    ]
    return leave_group.LeaveGroupRequest(group_id=words.text("group", "g"), members=members), 5


def _commit(words: Words, topics: Any) -> Made:
    request = offset_commit.OffsetCommitRequest(
        group_id=words.text("group", "g"),
        generation_id_or_member_epoch=words.number("generation", -1),
        member_id=words.text("member", ""),
        group_instance_id=words.text("instance", None),
        retention_time_ms=words.number("retention", -1),
    )
    for topic, partition, offset in _offsets(words):
        view = topics.named(topic)
        request.topics.append(
            offset_commit.OffsetCommitRequestTopic(
                name=topic,
                topic_id=ZERO_UUID if view is None else view.topic_id,
                partitions=[
                    offset_commit.OffsetCommitRequestPartition(
                        partition_index=partition,
                        committed_offset=offset,
                        committed_leader_epoch=words.number("epoch", -1),
                        committed_metadata=words.text("metadata", None),
                    )
                ],
            )
        )
    return request, words.number("version", 9)


def _txn_commit(words: Words, topics: Any) -> Made:
    request = txn_offset_commit.TxnOffsetCommitRequest(
        transactional_id="tx",
        group_id=words.text("group", "g"),
        producer_id=words.number("producer"),
        producer_epoch=0,
        generation_id=words.number("generation", -1),
        member_id=words.text("member", ""),
    )
    for topic, partition, offset in _offsets(words):
        request.topics.append(
            txn_offset_commit.TxnOffsetCommitRequestTopic(
                name=topic,
                partitions=[
                    txn_offset_commit.TxnOffsetCommitRequestPartition(
                        partition_index=partition, committed_offset=offset
                    )
                ],
            )
        )
    return request, 5


def _fetch(words: Words, topics: Any) -> Made:
    places = [one.rsplit("-", 1) for one in words.several("of")]
    group = offset_fetch.OffsetFetchRequestGroup(
        group_id=words.text("group", "g"),
        member_id=words.text("member", None),
        member_epoch=words.number("member-epoch", -1),
        topics=None,
    )
    if places:
        group.topics = []
        for name, index in places:
            view = topics.named(name)
            topic = offset_fetch.OffsetFetchRequestTopics(name=name, partition_indexes=[int(index)])
            topic.topic_id = ZERO_UUID if view is None else view.topic_id
            group.topics.append(topic)
    return FetchOffsets(group, words.text("stable", "no") == "yes"), 9


def _delete_offsets(words: Words, topics: Any) -> Made:
    request = offset_delete.OffsetDeleteRequest(group_id=words.text("group", "g"))
    for place in words.several("of"):
        topic, index = place.rsplit("-", 1)
        partition = offset_delete.OffsetDeleteRequestPartition(partition_index=int(index))
        request.topics.append(
            offset_delete.OffsetDeleteRequestTopic(name=topic, partitions=[partition])
        )
    return request, 0


def _list(words: Words, topics: Any) -> Made:
    states, types = words.several("states"), words.several("types")
    return ListGroups(frozenset(states), frozenset(types)), 5


def _describe(words: Words, topics: Any) -> Made:
    return DescribeGroups(words.several("groups", "g")), words.number("version", 6)


def _delete(words: Words, topics: Any) -> Made:
    return DeleteGroups(words.several("groups", "g")), 2


def _offsets(words: Words) -> list[tuple[str, int, int]]:
    """`t-0:5` is offset 5 of partition 0 of topic t."""
    found = []
    for one in words.several("offsets"):
        place, offset = one.split(":")
        topic, partition = place.rsplit("-", 1)
        found.append((topic, int(partition), int(offset)))
    return found


REQUESTS: dict[str, Callable[[Words, Any], Made]] = {
    "join": _join,
    "sync": _sync,
    "heartbeat": _heartbeat,
    "leave": _leave,
    "commit": _commit,
    "commit-in-transaction": _txn_commit,
    "fetch": _fetch,
    "delete-offsets": _delete_offsets,
    "list": _list,
    "describe": _describe,
    "delete": _delete,
}
