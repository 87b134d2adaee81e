"""The group APIs through their bytes: old and new versions, and who may ask."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.base.errors import ErrorCode
from headrace.broker.authorization import Operation, ResourceType
from headrace.broker.coordination.internal_topics import OFFSETS_TOPIC
from headrace.groups.classic.group import ClassicGroup
from headrace.protocol.messages.delete_groups import DeleteGroupsRequest
from headrace.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from headrace.protocol.messages.describe_groups import DescribeGroupsRequest
from headrace.protocol.messages.find_coordinator import FindCoordinatorRequest
from headrace.protocol.messages.heartbeat import HeartbeatRequest
from headrace.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from headrace.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from headrace.protocol.messages.list_groups import ListGroupsRequest
from headrace.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from headrace.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from headrace.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from headrace.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from headrace.records.batch import iter_headers
from tests.unit.broker.fakes import DenyAll
from tests.unit.broker.harness import Broker

ONE_PARTITION = {"offsets.topic.num.partitions": "1"}


@pytest.fixture
def grouped(tmp_path: Path) -> Iterator[Broker]:
    """A broker whose coordinators are there, and a topic `t` of two partitions.

    A first join is answered after a millisecond.
    """
    broker = Broker(tmp_path, overrides={**ONE_PARTITION, "group.initial.rebalance.delay.ms": "1"})
    broker.create_topic("t", 2)
    find(broker)
    yield broker
    broker.close()


def find(broker: Broker, group: str = "g") -> Any:
    return broker.ask(FindCoordinatorRequest(coordinator_keys=[group])).coordinators[0]


def join(**more: Any) -> JoinGroupRequest:
    protocol = JoinGroupRequestProtocol(name="range", metadata=b"about me")
    given = {"group_id": "g", "session_timeout_ms": 10_000, "rebalance_timeout_ms": 30_000}
    return JoinGroupRequest(
        **{**given, "protocol_type": "consumer", "protocols": [protocol], **more}
    )


def member(broker: Broker, version: int = 3) -> str:
    """A member of a stable group of one; its id."""
    exchange = broker.send(join(), version)
    broker.advance(1)
    joined = exchange.response
    assert joined.error_code == 0
    given = SyncGroupRequestAssignment(member_id=joined.member_id, assignment=b"all")
    sync = SyncGroupRequest(
        group_id="g",
        generation_id=1,
        member_id=joined.member_id,
        protocol_type="consumer",
        protocol_name="range",
        assignments=[given],
    )
    assert broker.ask(sync).assignment == b"all"
    return str(joined.member_id)


def commit(topic: str = "t", partition: int = 0, **more: Any) -> OffsetCommitRequest:
    place = OffsetCommitRequestPartition(
        partition_index=partition, committed_offset=5, committed_metadata="note"
    )
    topics = [OffsetCommitRequestTopic(name=topic, partitions=[place])]
    return OffsetCommitRequest(**{"group_id": "g", "topics": topics, **more})


def committed(broker: Broker, version: int = 9) -> Any:
    asked = OffsetFetchRequestTopics(name="t", partition_indexes=[0])
    group = OffsetFetchRequestGroup(group_id="g", topics=[asked])
    answer = broker.ask(OffsetFetchRequest(groups=[group]), version)
    return answer.groups[0].topics[0].partitions[0]


# Coordinators


def test_the_offsets_topic_is_made_when_the_first_group_needs_it(tmp_path: Path) -> None:
    broker = Broker(tmp_path)
    assert OFFSETS_TOPIC not in broker.plane.image.topics_by_name
    found = find(broker)
    assert (found.error_code, found.node_id) == (0, 1)
    topic = broker.plane.image.topics_by_name[OFFSETS_TOPIC]
    assert len(topic.partitions) == 50
    assert broker.partition(OFFSETS_TOPIC).log.config.cleanup_policy == {"compact"}
    broker.close()


def test_without_a_coordinator_here_groups_are_sent_elsewhere(broker: Broker) -> None:
    assert broker.ask(join()).error_code == ErrorCode.NOT_COORDINATOR
    assert broker.ask(ListGroupsRequest()).groups == []
    answer = broker.ask(DescribeGroupsRequest(groups=["g"]))
    assert answer.groups[0].error_code == ErrorCode.NOT_COORDINATOR


def test_groups_are_gone_when_the_offsets_topic_is(grouped: Broker) -> None:
    member_id = member(grouped)
    waiting = grouped.send(join(), 3)
    topic = DeleteTopicState(name=OFFSETS_TOPIC)
    assert grouped.ask(DeleteTopicsRequest(topics=[topic])).responses[0].error_code == 0
    assert waiting.response.error_code == ErrorCode.NOT_COORDINATOR
    beat = HeartbeatRequest(group_id="g", generation_id=1, member_id=member_id)
    assert grouped.ask(beat).error_code == ErrorCode.NOT_COORDINATOR


# Members


@pytest.mark.parametrize("version", range(10))
def test_a_member_joins_in_every_version(grouped: Broker, version: int) -> None:
    exchange = grouped.send(join(), version)
    if version >= 4:
        first = exchange.response
        assert first.error_code == ErrorCode.MEMBER_ID_REQUIRED
        assert first.protocol_name == ""
        exchange = grouped.send(join(member_id=first.member_id), version)
    assert not exchange.is_answered
    grouped.advance(1)
    joined = exchange.response
    assert joined.error_code == 0
    assert joined.generation_id == 1
    assert joined.leader == joined.member_id
    assert joined.member_id.startswith("tester-")
    assert [(one.member_id, one.metadata) for one in joined.members] == [
        (joined.member_id, b"about me")
    ]


def test_before_version_1_the_session_is_the_time_for_a_rebalance(grouped: Broker) -> None:
    first = grouped.send(join(), 0)
    grouped.advance(1)
    second = grouped.send(join(), 0)
    grouped.advance(9_999)
    assert not second.is_answered
    grouped.advance(1)
    assert second.response.error_code == 0
    assert second.response.leader == second.response.member_id
    assert first.response.member_id != second.response.member_id


def test_a_client_that_hangs_up_while_it_waits_is_not_answered(grouped: Broker) -> None:
    exchange = grouped.send(join(), 3)
    assert exchange.parked is not None
    exchange.parked.abandon()
    grouped.advance(1)
    assert not exchange.is_answered


def test_a_sync_must_say_its_protocol_since_version_5(grouped: Broker) -> None:
    sync = SyncGroupRequest(group_id="g", generation_id=1, member_id="m")
    assert grouped.ask(sync, 5).error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert grouped.ask(sync, 4).error_code == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("version", range(6))
def test_members_leave_in_every_version(grouped: Broker, version: int) -> None:
    member_id = member(grouped)
    request = LeaveGroupRequest(group_id="g")
    if version < 3:
        request.member_id = member_id
    else:
        request.members = [MemberIdentity(member_id=member_id)]
    answer = grouped.ask(request, version)
    assert answer.error_code == 0
    again = grouped.ask(request, version)
    if version < 3:
        assert again.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    else:
        assert [one.error_code for one in again.members] == [ErrorCode.UNKNOWN_MEMBER_ID]


def test_the_node_sees_a_client_and_its_address(grouped: Broker) -> None:
    member(grouped)
    (group,) = grouped.ask(DescribeGroupsRequest(groups=["g"])).groups
    (seen,) = group.members
    assert (seen.client_id, seen.client_host) == ("tester", "/10.0.0.7")
    assert (seen.member_metadata, seen.member_assignment) == (b"about me", b"all")
    assert (group.group_state, group.protocol_type, group.protocol_data) == (
        "Stable",
        "consumer",
        "range",
    )


def test_a_group_that_is_asked_for_many_times_is_described_once(grouped: Broker) -> None:
    member(grouped)
    groups = grouped.ask(DescribeGroupsRequest(groups=["g", "other", "g", "g"])).groups
    assert [group.group_id for group in groups] == ["g", "other"]


# Offsets


@pytest.mark.parametrize("version", range(2, 11))
def test_offsets_are_committed_and_fetched_in_every_version(grouped: Broker, version: int) -> None:
    request = commit()
    topic_id = grouped.plane.image.topics_by_name["t"].topic_id
    if version >= 10:
        request.topics[0].name, request.topics[0].topic_id = "", topic_id
    answer = grouped.ask(request, version)
    assert answer.topics[0].partitions[0].error_code == 0
    assert committed(grouped).committed_offset == 5
    assert committed(grouped).metadata == "note"


@pytest.mark.parametrize("version", range(1, 8))
def test_one_group_is_fetched_in_old_versions(grouped: Broker, version: int) -> None:
    grouped.ask(commit(), 9)
    asked = OffsetFetchRequestTopic(name="t", partition_indexes=[0, 1])
    answer = grouped.ask(OffsetFetchRequest(group_id="g", topics=[asked]), version)
    found = answer.topics[0].partitions
    assert [(one.partition_index, one.committed_offset) for one in found] == [(0, 5), (1, -1)]
    if version >= 2:
        answer = grouped.ask(OffsetFetchRequest(group_id="g", topics=None), version)
        assert [one.partition_index for one in answer.topics[0].partitions] == [0]


def test_many_groups_are_fetched_at_once_in_the_order_asked(grouped: Broker) -> None:
    for name in ("a", "b", "c"):
        grouped.ask(commit(group_id=name), 9)
    asked = [OffsetFetchRequestGroup(group_id=name, topics=None) for name in ("c", "x", "a")]
    answer = grouped.ask(OffsetFetchRequest(groups=asked), 9)
    assert [one.group_id for one in answer.groups] == ["c", "x", "a"]
    assert [len(one.topics) for one in answer.groups] == [1, 0, 1]


def test_topics_are_known_by_id_since_version_10(grouped: Broker) -> None:
    grouped.ask(commit(), 9)
    topic_id = grouped.plane.image.topics_by_name["t"].topic_id
    asked = [
        OffsetFetchRequestTopics(topic_id=topic_id, partition_indexes=[0]),
        OffsetFetchRequestTopics(topic_id=b"n" * 16, partition_indexes=[0]),
    ]
    group = OffsetFetchRequestGroup(group_id="g", topics=asked)
    known, unknown = grouped.ask(OffsetFetchRequest(groups=[group]), 10).groups[0].topics
    assert (known.topic_id, known.partitions[0].committed_offset) == (topic_id, 5)
    assert unknown.partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID
    everything = OffsetFetchRequestGroup(group_id="g", topics=None)
    answer = grouped.ask(OffsetFetchRequest(groups=[everything]), 10)
    assert [one.topic_id for one in answer.groups[0].topics] == [topic_id]
    stranger = commit()
    stranger.topics[0].topic_id = b"n" * 16
    answer = grouped.ask(stranger, 10)
    assert answer.topics[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_what_does_not_exist_is_refused_beside_what_does(grouped: Broker) -> None:
    request = commit()
    request.topics[0].partitions.append(OffsetCommitRequestPartition(partition_index=2))
    request.topics[0].partitions.append(OffsetCommitRequestPartition(partition_index=-1))
    request.topics += commit("unknown").topics
    answer = grouped.ask(request, 9)
    codes = {
        (topic.name, one.partition_index): one.error_code
        for topic in answer.topics
        for one in topic.partitions
    }
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert codes == {
        ("t", 0): 0,
        ("t", 2): unknown,
        ("t", -1): unknown,
        ("unknown", 0): unknown,
    }


def test_an_error_of_the_group_is_told_where_a_version_has_room_for_it(grouped: Broker) -> None:
    member(grouped)
    wrong = commit(generation_id_or_member_epoch=7, member_id="m")
    answer = grouped.ask(wrong, 9)
    assert answer.topics[0].partitions[0].error_code == ErrorCode.UNKNOWN_MEMBER_ID
    grouped.groups.coordinators.close()
    old = OffsetFetchRequest(
        group_id="g", topics=[OffsetFetchRequestTopic(name="t", partition_indexes=[0])]
    )
    assert grouped.ask(old, 7).error_code == ErrorCode.NOT_COORDINATOR
    partition = grouped.ask(old, 1).topics[0].partitions[0]
    assert partition.error_code == ErrorCode.NOT_COORDINATOR
    new = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="g", topics=None)])
    assert grouped.ask(new, 9).groups[0].error_code == ErrorCode.NOT_COORDINATOR


def test_offsets_are_deleted_but_for_what_does_not_exist(grouped: Broker) -> None:
    grouped.ask(commit(), 9)
    request = OffsetDeleteRequest(group_id="g")
    for name, index in (("t", 0), ("t", 9), ("unknown", 0)):
        place = OffsetDeleteRequestPartition(partition_index=index)
        if request.topics and request.topics[-1].name == name:
            request.topics[-1].partitions.append(place)
        else:
            request.topics.append(OffsetDeleteRequestTopic(name=name, partitions=[place]))
    answer = grouped.ask(request)
    assert answer.error_code == 0
    codes = [one.error_code for topic in answer.topics for one in topic.partitions]
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert codes == [0, unknown, unknown]
    assert committed(grouped).committed_offset == -1


# The inventory


def test_groups_are_listed_by_state_and_type(grouped: Broker) -> None:
    grouped.ask(commit(group_id="simple"), 9)
    member(grouped)

    def listed(**filters: list[str]) -> list[str]:
        return sorted(one.group_id for one in grouped.ask(ListGroupsRequest(**filters)).groups)

    assert listed() == ["g", "simple"]
    assert listed(states_filter=["Stable"]) == ["g"]
    assert listed(states_filter=["EMPTY", "dead"]) == ["simple"]
    assert listed(types_filter=["Classic"]) == ["g", "simple"]
    assert listed(types_filter=["consumer"]) == []


def test_groups_are_deleted_one_by_one(grouped: Broker) -> None:
    grouped.ask(commit(group_id="simple"), 9)
    member(grouped)
    answer = grouped.ask(DeleteGroupsRequest(groups_names=["simple", "g", "nobody"]))
    assert {one.group_id: one.error_code for one in answer.results} == {
        "simple": 0,
        "g": ErrorCode.NON_EMPTY_GROUP,
        "nobody": ErrorCode.GROUP_ID_NOT_FOUND,
    }


def test_offsets_under_the_empty_id_are_described_and_deleted_like_those_of_a_group(
    grouped: Broker,
) -> None:
    """Consumers without a group once committed there; Kafka still knows it."""
    describe, delete = DescribeGroupsRequest(groups=[""]), DeleteGroupsRequest(groups_names=[""])
    assert grouped.ask(describe).groups[0].error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert grouped.ask(delete).results[0].error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert grouped.ask(commit(group_id=""), 9).topics[0].partitions[0].error_code == 0
    (described,) = grouped.ask(describe).groups
    assert (described.error_code, described.group_state) == (0, "Empty")
    assert grouped.ask(delete).results[0].error_code == 0
    assert grouped.ask(ListGroupsRequest()).groups == []


# Who may


def test_whoever_may_not_read_the_topic_cannot_commit_to_it(tmp_path: Path) -> None:
    group = ResourceType.GROUP
    allowed = DenyAll(
        (Operation.DESCRIBE, group, "g"),
        (Operation.READ, group, "g"),
        (Operation.DELETE, group, "g"),
    )
    broker = Broker(tmp_path, authorizer=allowed, overrides=ONE_PARTITION)
    broker.create_topic("t", 2)
    assert find(broker).error_code == 0
    assert find(broker, "other").error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED
    answer = broker.ask(commit(), 9)
    refused = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert answer.topics[0].partitions[0].error_code == refused
    assert committed(broker).error_code == refused
    place = OffsetDeleteRequestPartition(partition_index=0)
    topics = [OffsetDeleteRequestTopic(name="t", partitions=[place])]
    broker.groups.coordinators.shard_for("g").coordinator.groups.put(_empty_group())
    answer = broker.ask(OffsetDeleteRequest(group_id="g", topics=topics))
    assert answer.topics[0].partitions[0].error_code == refused
    broker.close()


def test_whoever_may_not_see_the_cluster_sees_only_their_groups(tmp_path: Path) -> None:
    mine = DenyAll(
        *((operation, ResourceType.GROUP, "g") for operation in Operation),
        *((operation, ResourceType.TOPIC, "t") for operation in Operation),
    )
    broker = Broker(tmp_path, authorizer=mine, overrides=ONE_PARTITION)
    broker.create_topic("t", 2)
    find(broker)
    broker.ask(commit(), 9)
    broker.groups.coordinators.shard_for("x").coordinator.groups.put(_empty_group("x"))
    assert [one.group_id for one in broker.ask(ListGroupsRequest()).groups] == ["g"]
    request = DescribeGroupsRequest(groups=["g", "x"], include_authorized_operations=True)
    answer = {one.group_id: one for one in broker.ask(request).groups}
    assert answer["x"].error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED
    assert answer["g"].authorized_operations & (1 << Operation.READ)
    broker.close()


def _empty_group(group_id: str = "g") -> Any:
    return ClassicGroup(group_id)


def test_the_offsets_topic_is_compressed_if_asked(tmp_path: Path) -> None:
    settings = {**ONE_PARTITION, "offsets.topic.compression.codec": "4"}
    broker = Broker(tmp_path, overrides=settings)
    broker.create_topic("t", 2)
    find(broker)
    broker.ask(commit(), 9)
    log = broker.partition(OFFSETS_TOPIC).log
    data = log.read(0, 1 << 20, end_offset=log.log_end_offset)
    assert [header.codec for _, header in iter_headers(data)] == [4]
    broker.groups.coordinators.close()
    broker.groups.coordinators.start(broker.partitions)
    broker.scheduler.settle()
    assert committed(broker).committed_offset == 5
    broker.close()


def test_while_the_log_is_read_nobody_is_answered_but_heartbeats(grouped: Broker) -> None:
    member_id = member(grouped)
    asked: list[tuple[Any, int]] = [
        (join(), 9),
        (ListGroupsRequest(), 5),
        (OffsetFetchRequest(group_id="g", topics=[]), 7),
    ]
    for request, version in asked:
        grouped.groups.coordinators.close()
        grouped.groups.coordinators.start(grouped.partitions)
        answer = grouped.ask(request, version)
        assert answer.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    grouped.groups.coordinators.close()
    grouped.groups.coordinators.start(grouped.partitions)
    beat = HeartbeatRequest(group_id="g", generation_id=9, member_id=member_id)
    assert grouped.ask(beat).error_code == 0
    assert grouped.ask(beat).error_code == ErrorCode.ILLEGAL_GENERATION
