"""A member of a classic group, against a scripted coordinator."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headrace.base.errors import ErrorCode, KafkaError
from headrace.client.blocking import KafkaClient
from headrace.client.config import ClientConfig
from headrace.client.groups_describe import read_assignment
from headrace.client.groups_member import GroupMember, MemberConfig
from headrace.client.groups_protocol import write_assignment, write_subscription
from headrace.protocol.apis import ApiKey
from headrace.protocol.messages.heartbeat import HeartbeatResponse
from headrace.protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupResponse,
    JoinGroupResponseMember,
)
from headrace.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from headrace.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from tests.unit.client.scripted_broker import ScriptedBroker
from tests.unit.client.scripted_groups import coordinate


@pytest.fixture
def broker() -> Iterator[ScriptedBroker]:
    with ScriptedBroker() as scripted:
        scripted.topics = {"t": 4}
        coordinate(scripted, {})
        yield scripted


@pytest.fixture
def client(broker: ScriptedBroker) -> Iterator[KafkaClient]:
    settings = {"bootstrap.servers": broker.address, "retry.backoff.ms": "1"}
    with KafkaClient(ClientConfig.from_settings(settings)) as connected:
        yield connected


def joining(broker: ScriptedBroker, *, leader: str) -> None:
    """The coordinator names the member `m`, whose group has one more, `n`."""
    rows = [
        JoinGroupResponseMember(member_id=name, metadata=write_subscription(["t"]))
        for name in ("m", "n")
    ]

    def join(request: JoinGroupRequest, _version: int) -> JoinGroupResponse:
        if not request.member_id:
            return JoinGroupResponse(error_code=ErrorCode.MEMBER_ID_REQUIRED, member_id="m")
        return JoinGroupResponse(
            generation_id=5,
            protocol_name="range",
            leader=leader,
            member_id="m",
            members=rows if leader == "m" else [],
        )

    def sync(request: SyncGroupRequest, _version: int) -> SyncGroupResponse:
        shares = {row.member_id: bytes(row.assignment) for row in request.assignments}
        return SyncGroupResponse(assignment=shares.get("m") or write_assignment([("t", 3)]))

    broker.scripts[ApiKey.JOIN_GROUP] = join
    broker.scripts[ApiKey.SYNC_GROUP] = sync


def last(broker: ScriptedBroker, kind: type) -> object:
    return next(request for request in reversed(broker.asked) if isinstance(request, kind))


def test_a_leader_shares_out_the_partitions(broker: ScriptedBroker, client: KafkaClient) -> None:
    joining(broker, leader="m")
    member = GroupMember(client, MemberConfig("g"))
    assignment = member.join({"t": 4})
    assert assignment.partitions == {("t", 0), ("t", 1)}
    assert assignment.is_leader
    synced = last(broker, SyncGroupRequest)
    assert isinstance(synced, SyncGroupRequest)
    shares = {row.member_id: read_assignment(row.assignment) for row in synced.assignments}
    assert shares["n"] == {("t", 2), ("t", 3)}
    assert member.membership == ("m", 5, None)


def test_a_follower_takes_what_it_is_given(broker: ScriptedBroker, client: KafkaClient) -> None:
    joining(broker, leader="n")
    member = GroupMember(client, MemberConfig("g", heartbeat_interval_ms=0))
    assert member.join({"t": 4}).partitions == {("t", 3)}
    synced = last(broker, SyncGroupRequest)
    assert isinstance(synced, SyncGroupRequest)
    assert synced.assignments == []


@pytest.mark.parametrize(
    ("code", "stays", "keeps_its_id"),
    [
        (ErrorCode.NONE, True, True),
        (ErrorCode.REBALANCE_IN_PROGRESS, False, True),
        (ErrorCode.UNKNOWN_MEMBER_ID, False, False),
        (ErrorCode.ILLEGAL_GENERATION, False, False),
    ],
)
def test_heartbeats_tell_when_to_join_again(
    broker: ScriptedBroker, client: KafkaClient, code: ErrorCode, stays: bool, keeps_its_id: bool
) -> None:
    joining(broker, leader="n")
    broker.scripts[ApiKey.HEARTBEAT] = lambda _r, _v: HeartbeatResponse(error_code=code)
    member = GroupMember(client, MemberConfig("g", heartbeat_interval_ms=0))
    assert not member.is_in_place()
    member.join({"t": 4})
    assert member.is_in_place() is stays
    assert bool(member.membership.member_id) is keeps_its_id


def test_a_fenced_member_is_told(broker: ScriptedBroker, client: KafkaClient) -> None:
    fenced = JoinGroupResponse(error_code=ErrorCode.FENCED_INSTANCE_ID)
    broker.scripts[ApiKey.JOIN_GROUP] = lambda _r, _v: fenced
    with pytest.raises(KafkaError) as raised:
        GroupMember(client, MemberConfig("g", "static")).join({"t": 4})
    assert raised.value.code is ErrorCode.FENCED_INSTANCE_ID


def test_leaving_is_for_members_without_an_instance_id(
    broker: ScriptedBroker, client: KafkaClient
) -> None:
    joining(broker, leader="n")
    broker.scripts[ApiKey.LEAVE_GROUP] = lambda _r, _v: LeaveGroupResponse()
    for instance, leaves in (("static", 0), (None, 1)):
        member = GroupMember(client, MemberConfig("g", instance))
        member.join({"t": 4})
        member.leave()
        asked = [request for request in broker.asked if isinstance(request, LeaveGroupRequest)]
        assert len(asked) == leaves
