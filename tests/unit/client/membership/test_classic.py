"""A member of a classic group as a state machine: every answer that a coordinator can give."""

from __future__ import annotations

import pytest

from headrace.base.errors import ErrorCode
from headrace.client.assignors.strategies import Strategy, find_strategies
from headrace.client.groups_describe import read_assignment
from headrace.client.groups_protocol import read_subscriber, write_assignment, write_subscription
from headrace.client.membership.classic import ClassicMember, Phase
from headrace.client.membership.config import MemberConfig
from headrace.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from headrace.protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupResponse,
    JoinGroupResponseMember,
)
from headrace.protocol.messages.leave_group import LeaveGroupRequest
from headrace.protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from headrace.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse

RANGE = find_strategies("range")
COOPERATIVE = find_strategies("cooperative-sticky")
T0, T1, T2 = ("t", 0), ("t", 1), ("t", 2)


def member(strategies: tuple[Strategy, ...] = RANGE, instance: str | None = None) -> ClassicMember:
    machine = ClassicMember(MemberConfig("g", instance, strategies=strategies))
    machine.polled(0)
    machine.subscribe({"t": 3})
    return machine


def joined(machine: ClassicMember, *, generation: int = 1) -> JoinGroupRequest:
    """Let it join as a follower; returns what it asked."""
    request = machine.next_request(0)
    assert isinstance(request, JoinGroupRequest)
    name = machine.config.strategies[0].name
    answer = JoinGroupResponse(
        generation_id=generation, protocol_name=name, leader="other", member_id="m"
    )
    machine.answered(answer, 0)
    return request


def assigned(machine: ClassicMember, *partitions: tuple[str, int], generation: int = 1) -> None:
    joined(machine, generation=generation)
    assert isinstance(machine.next_request(0), SyncGroupRequest)
    machine.answered(SyncGroupResponse(assignment=write_assignment(partitions)), 0)


def carry_out(machine: ClassicMember) -> None:
    assert machine.pending is not None
    machine.carried_out(machine.pending)


def settled(machine: ClassicMember, *partitions: tuple[str, int], generation: int = 1) -> None:
    assigned(machine, *partitions, generation=generation)
    carry_out(machine)
    assert machine.owned == set(partitions)


def beat(machine: ClassicMember, code: ErrorCode, now_ms: float = 3_000) -> None:
    assert isinstance(machine.next_request(now_ms), HeartbeatRequest)
    machine.answered(HeartbeatResponse(error_code=code), now_ms)


def test_nothing_is_asked_before_there_is_something_to_read() -> None:
    machine = ClassicMember(MemberConfig("g"))
    machine.polled(0)
    assert machine.next_request(0) is None


def test_the_default_offers_range_and_cooperative_sticky_and_is_eager() -> None:
    machine = ClassicMember(MemberConfig("g"))
    machine.polled(0)
    machine.subscribe({"t": 3})
    request = machine.next_request(0)
    assert isinstance(request, JoinGroupRequest)
    assert [row.name for row in request.protocols] == ["range", "cooperative-sticky"]
    assert not machine.config.is_cooperative


def test_a_member_id_that_is_required_is_used_at_once() -> None:
    machine = member()
    machine.next_request(0)
    answer = JoinGroupResponse(error_code=ErrorCode.MEMBER_ID_REQUIRED, member_id="m")
    machine.answered(answer, 0)
    again = machine.next_request(0)
    assert isinstance(again, JoinGroupRequest)
    assert again.member_id == "m"


def test_a_leader_shares_out_also_what_only_others_read() -> None:
    machine = member()
    machine.next_request(0)
    rows = [
        JoinGroupResponseMember(member_id=name, metadata=write_subscription(topics))
        for name, topics in (("m", ["t"]), ("n", ["t", "u"]))
    ]
    answer = JoinGroupResponse(
        generation_id=5, protocol_name="range", leader="m", member_id="m", members=rows
    )
    machine.answered(answer, 0)
    asked = machine.next_request(0)
    assert isinstance(asked, MetadataRequest)
    assert [row.name for row in asked.topics or []] == ["u"]
    topic = MetadataResponseTopic(name="u", partitions=[MetadataResponsePartition()])
    machine.answered(MetadataResponse(topics=[topic]), 0)
    synced = machine.next_request(0)
    assert isinstance(synced, SyncGroupRequest)
    shares = {row.member_id: read_assignment(row.assignment) for row in synced.assignments}
    assert shares == {"m": {T0, T1}, "n": {T2, ("u", 0)}}


def test_heartbeats_keep_their_interval() -> None:
    machine = member()
    settled(machine, T0)
    assert machine.next_request(2_999) is None
    beat(machine, ErrorCode.NONE, 3_000)
    assert machine.next_request(5_999) is None
    assert machine.membership == ("m", 1, None)


def test_an_eager_member_gives_all_up_before_it_joins_again() -> None:
    machine = member()
    settled(machine, T0, T1)
    beat(machine, ErrorCode.REBALANCE_IN_PROGRESS)
    assert machine.next_request(3_000) is None
    assert machine.pending is not None
    assert machine.pending.revoked == {T0, T1}
    carry_out(machine)
    request = joined(machine, generation=2)
    mine = JoinGroupResponseMember(metadata=request.protocols[0].metadata)
    assert read_subscriber(mine).owned == ()


def test_heartbeats_go_on_while_the_application_gives_up_its_partitions() -> None:
    machine = member()
    settled(machine, T0)
    beat(machine, ErrorCode.REBALANCE_IN_PROGRESS)
    assert machine.next_request(3_000) is None
    beat(machine, ErrorCode.REBALANCE_IN_PROGRESS, 6_000)
    assert machine.phase is Phase.PREPARING


def test_a_cooperative_member_keeps_reading_and_joins_again_after_giving_up() -> None:
    machine = member(COOPERATIVE)
    settled(machine, T0, T1)
    beat(machine, ErrorCode.REBALANCE_IN_PROGRESS)
    machine.next_request(3_000)
    assert machine.pending is not None
    assert not machine.pending.revoked
    carry_out(machine)
    request = joined(machine, generation=2)
    mine = JoinGroupResponseMember(metadata=request.protocols[0].metadata)
    told = read_subscriber(mine, "cooperative-sticky")
    assert (set(told.owned), told.generation) == ({T0, T1}, 1)
    machine.next_request(3_000)
    machine.answered(SyncGroupResponse(assignment=write_assignment([T0])), 3_000)
    assert machine.pending is not None
    assert machine.pending.revoked == {T1}
    assert not machine.pending.added
    carry_out(machine)
    machine.next_request(3_000)
    assert machine.phase is Phase.PREPARING
    carry_out(machine)
    assert isinstance(machine.next_request(3_000), JoinGroupRequest)


@pytest.mark.parametrize("code", [ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION])
def test_a_member_that_the_group_forgot_has_lost_its_partitions(code: ErrorCode) -> None:
    machine = member()
    settled(machine, T0)
    beat(machine, code)
    assert machine.pending is not None
    assert machine.pending.is_lost
    assert machine.pending.revoked == {T0}
    carry_out(machine)
    request = machine.next_request(3_000)
    assert isinstance(request, JoinGroupRequest)
    assert request.member_id == ""


def test_a_fenced_static_member_cannot_go_on() -> None:
    machine = member(instance="i")
    settled(machine, T0)
    beat(machine, ErrorCode.FENCED_INSTANCE_ID)
    assert machine.failure is not None
    assert machine.failure.code is ErrorCode.FENCED_INSTANCE_ID


def test_an_application_that_stays_away_costs_the_member_its_place() -> None:
    machine = member()
    settled(machine, T0)
    assert isinstance(machine.next_request(300_000), LeaveGroupRequest)
    assert machine.pending is not None
    assert machine.pending.is_lost
    assert machine.next_request(400_000) is None
    machine.polled(500_000)
    carry_out(machine)
    assert isinstance(machine.next_request(500_000), JoinGroupRequest)


def test_a_static_member_neither_leaves_late_nor_when_it_is_closed() -> None:
    machine = member(instance="i")
    settled(machine, T0)
    assert machine.leave_request() is None
    assert machine.next_request(300_000) is None
    assert machine.pending is not None
    assert machine.pending.is_lost


def test_a_new_subscription_is_a_reason_to_join_again() -> None:
    machine = member(COOPERATIVE)
    settled(machine, T0, T1)
    machine.subscribe({"u": 1})
    machine.next_request(1)
    assert machine.pending is not None
    assert machine.pending.revoked == {T0, T1}


def test_more_partitions_are_the_leaders_business_only() -> None:
    machine = member()
    settled(machine, T0)
    machine.subscribe({"t": 9})
    assert machine.next_request(1) is None
    assert machine.pending is None


def test_a_rebalance_during_the_sync_starts_the_join_anew() -> None:
    machine = member()
    joined(machine)
    machine.next_request(0)
    machine.answered(SyncGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS), 0)
    assert isinstance(machine.next_request(0), JoinGroupRequest)


def test_what_was_carried_out_too_late_counts_for_nothing() -> None:
    machine = member()
    assigned(machine, T0)
    stale = machine.pending
    assert stale is not None
    machine.lost()
    machine.carried_out(stale)
    assert machine.pending is not None
    assert machine.pending.is_lost
    assert machine.owned == set()
