"""Single steps of a member towards its target."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.base.errors import ErrorCode, KafkaError
from headrace.groups.consumer.member import Member, MemberState, Partitions
from headrace.groups.consumer.reconciliation import Aim, reconcile
from headrace.protocol.messages.consumer_group_heartbeat import TopicPartitions

T, U = b"t" * 16, b"u" * 16


def aim(target: Partitions, epoch: int = 2, **given: Any) -> Aim:
    settings: dict[str, Any] = {
        "topic_ids": {T, U},
        "is_taken": lambda topic_id, partition: False,
        "reported": None,
        "has_subscription_changed": False,
    }
    return Aim(epoch, target, **{**settings, **given})


def owning(*partitions: int, epoch: int = 1) -> Member:
    return Member("m", member_epoch=epoch, assigned={T: dict.fromkeys(partitions, epoch)})


def reported(*partitions: int) -> list[TopicPartitions]:
    return [TopicPartitions(topic_id=T, partitions=list(partitions))]


def test_what_is_free_comes_at_once() -> None:
    after = reconcile(owning(0), aim({T: frozenset({0, 1})}))
    assert after.assigned == {T: {0: 1, 1: 2}}
    assert (after.member_epoch, after.previous_member_epoch) == (2, 1)
    assert after.state is MemberState.STABLE


def test_what_another_has_is_waited_for_in_the_new_epoch() -> None:
    goal = aim({T: frozenset({0, 1})}, is_taken=lambda topic_id, partition: partition == 1)
    after = reconcile(owning(0), goal)
    assert after.assigned == {T: {0: 1}}
    assert after.member_epoch == 2
    assert after.state is MemberState.UNRELEASED_PARTITIONS


def test_what_has_to_go_is_given_up_in_the_old_epoch() -> None:
    after = reconcile(owning(0, 1), aim({T: frozenset({0}), U: frozenset({5})}))
    assert after.assigned == {T: {0: 1}}
    assert after.pending_revocation == {T: {1: 1}}
    assert after.member_epoch == 1
    assert after.state is MemberState.UNREVOKED_PARTITIONS


def test_what_the_member_does_not_have_any_more_need_not_be_given_up() -> None:
    after = reconcile(owning(0, 1), aim({T: frozenset({0})}, reported=reported(0)))
    assert (after.member_epoch, after.state) == (2, MemberState.STABLE)


def test_a_member_that_says_nothing_still_has_everything() -> None:
    revoking = reconcile(owning(0, 1), aim({T: frozenset({0})}))
    assert reconcile(revoking, aim({T: frozenset({0})})) is revoking
    after = reconcile(revoking, aim({T: frozenset({0})}, reported=reported(0)))
    assert (after.member_epoch, after.state) == (2, MemberState.STABLE)


def test_a_partition_on_its_way_out_can_come_back() -> None:
    """The target changed again; the coordinator still counts the member as its owner."""
    revoking = reconcile(owning(0, 1), aim({T: frozenset({0})}))
    goal = aim(
        {T: frozenset({0, 1})},
        epoch=3,
        reported=reported(0),
        is_taken=lambda topic_id, partition: partition == 1,
    )
    after = reconcile(revoking, goal)
    assert after.assigned == {T: {0: 1, 1: 3}}
    assert after.state is MemberState.STABLE


def test_the_target_of_a_topic_that_is_not_read_any_more_does_not_count() -> None:
    after = reconcile(owning(0), aim({T: frozenset({0, 1})}, topic_ids=set()))
    assert after.assigned == {}
    assert after.pending_revocation == {T: {0: 1}}


def test_a_new_subscription_takes_topics_away_before_there_is_a_new_target() -> None:
    member = Member("m", member_epoch=2, assigned={T: {0: 1}, U: {0: 2}})
    goal = aim({T: frozenset({0}), U: frozenset({0})}, topic_ids={U}, has_subscription_changed=True)
    after = reconcile(member, goal)
    assert after.assigned == {U: {0: 2}}
    assert after.pending_revocation == {T: {0: 1}}
    assert (after.member_epoch, after.state) == (2, MemberState.UNREVOKED_PARTITIONS)
    stays = aim({T: frozenset({0}), U: frozenset({0})}, has_subscription_changed=True)
    assert reconcile(member, stays) is member


def test_a_state_of_a_newer_coordinator_makes_the_member_start_over() -> None:
    member = owning(0).but(state=MemberState(99))
    assert member.state is MemberState.UNKNOWN
    with pytest.raises(KafkaError) as refusal:
        reconcile(member, aim({T: frozenset({0})}, reported=reported(0)))
    assert refusal.value.code is ErrorCode.FENCED_MEMBER_EPOCH
    after = reconcile(member, aim({T: frozenset({0})}, reported=[]))
    assert (after.member_epoch, after.state) == (2, MemberState.STABLE)
