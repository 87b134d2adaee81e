"""A member of a consumer group (KIP-848) as a state machine."""

from __future__ import annotations

from headrace.base.errors import ErrorCode
from headrace.client.membership.config import CONSUMER, MemberConfig
from headrace.client.membership.consumer import LEAVE, LEAVE_STATIC, ConsumerMember
from headrace.protocol.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from headrace.protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseTopic,
)

ID = b"t" * 16
T0, T1 = ("t", 0), ("t", 1)


def member(instance: str | None = None) -> ConsumerMember:
    config = MemberConfig("g", instance, group_protocol=CONSUMER, group_remote_assignor="range")
    machine = ConsumerMember(config, "m")
    machine.polled(0)
    machine.subscribe({"t": 2})
    return machine


def beat(machine: ConsumerMember, now_ms: float = 0) -> ConsumerGroupHeartbeatRequest:
    request = machine.next_request(now_ms)
    assert isinstance(request, ConsumerGroupHeartbeatRequest)
    return request


def answer(machine: ConsumerMember, epoch: int, *partitions: int, now_ms: float = 0) -> None:
    rows = [TopicPartitions(topic_id=ID, partitions=list(partitions))] if partitions else []
    response = ConsumerGroupHeartbeatResponse(
        member_id="m",
        member_epoch=epoch,
        heartbeat_interval_ms=5_000,
        assignment=Assignment(topic_partitions=rows),
    )
    machine.answered(response, now_ms)


def look_up(machine: ConsumerMember) -> None:
    assert isinstance(machine.next_request(0), MetadataRequest)
    topic = MetadataResponseTopic(name="t", topic_id=ID)
    machine.answered(MetadataResponse(topics=[topic]), 0)


def settle(machine: ConsumerMember, *partitions: int) -> None:
    beat(machine)
    answer(machine, 3, *partitions)
    look_up(machine)
    assert machine.pending is not None
    machine.carried_out(machine.pending)


def test_the_first_heartbeat_tells_everything_and_later_ones_only_changes() -> None:
    machine = member()
    first = beat(machine)
    assert (first.member_id, first.member_epoch, first.topic_partitions) == ("m", 0, [])
    assert first.subscribed_topic_names == ["t"]
    assert first.server_assignor == "range"
    answer(machine, 1)
    assert machine.pending is not None
    machine.carried_out(machine.pending)
    told = beat(machine)
    assert (told.member_epoch, told.topic_partitions) == (1, [])
    assert told.subscribed_topic_names is None
    assert machine.next_request(0) is None


def test_an_assignment_is_acknowledged_when_it_has_been_carried_out() -> None:
    machine = member()
    settle(machine, 0, 1)
    assert machine.owned == {T0, T1}
    told = beat(machine)
    assert told.topic_partitions == [TopicPartitions(topic_id=ID, partitions=[0, 1])]
    answer(machine, 4, 0)
    assert machine.pending is not None
    assert machine.pending.revoked == {T1}
    assert not machine.pending.added
    machine.carried_out(machine.pending)
    assert beat(machine).topic_partitions == [TopicPartitions(topic_id=ID, partitions=[0])]


def test_an_assignment_that_comes_during_another_waits_its_turn() -> None:
    machine = member()
    beat(machine)
    answer(machine, 3, 0)
    look_up(machine)
    first = machine.pending
    beat(machine, 5_000)
    answer(machine, 3, 1, now_ms=5_000)
    assert machine.pending is first
    assert first is not None
    machine.carried_out(first)
    assert machine.pending is not None
    assert machine.pending.revoked == {T0}
    assert machine.pending.added == {T1}


def test_a_fenced_member_loses_its_partitions_and_joins_again_under_its_id() -> None:
    machine = member()
    settle(machine, 0)
    beat(machine)
    machine.answered(ConsumerGroupHeartbeatResponse(error_code=ErrorCode.FENCED_MEMBER_EPOCH), 0)
    assert machine.pending is not None
    assert machine.pending.is_lost
    assert machine.next_request(0) is None
    machine.carried_out(machine.pending)
    again = beat(machine)
    assert (again.member_id, again.member_epoch, again.topic_partitions) == ("m", 0, [])


def test_a_heartbeat_without_an_answer_is_told_in_full_again() -> None:
    machine = member()
    settle(machine, 0)
    beat(machine)
    machine.not_answered()
    again = beat(machine, 5_000)
    assert again.subscribed_topic_names == ["t"]
    assert again.topic_partitions == [TopicPartitions(topic_id=ID, partitions=[0])]


def test_leaving_says_whether_the_member_will_be_back() -> None:
    for instance, epoch in ((None, LEAVE), ("i", LEAVE_STATIC)):
        machine = member(instance)
        assert machine.leave_request() is None
        settle(machine, 0)
        request = machine.leave_request()
        assert isinstance(request, ConsumerGroupHeartbeatRequest)
        assert request.member_epoch == epoch


def test_an_application_that_stays_away_costs_the_member_its_place() -> None:
    machine = member()
    settle(machine, 0)
    assert beat(machine, 300_000).member_epoch == LEAVE
    machine.answered(ConsumerGroupHeartbeatResponse(member_epoch=LEAVE), 300_000)
    assert machine.pending is not None
    assert machine.pending.is_lost
    machine.carried_out(machine.pending)
    assert machine.next_request(400_000) is None
    machine.polled(400_000)
    assert beat(machine, 400_000).member_epoch == 0


def test_an_assignor_that_the_broker_does_not_have_is_told() -> None:
    machine = member()
    beat(machine)
    machine.answered(
        ConsumerGroupHeartbeatResponse(
            error_code=ErrorCode.UNSUPPORTED_ASSIGNOR, error_message="no such assignor"
        ),
        0,
    )
    assert machine.failure is not None
    assert machine.failure.message == "no such assignor"
