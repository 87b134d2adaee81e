"""The next step of one member towards its target assignment.

A member first gives up what it may not keep, and stays in its epoch until it has said so. Then it
moves to the epoch of the target and gets what is free; what others still have comes with later
heartbeats. So no partition ever has two owners, and nobody waits for the whole group.

    STABLE ------> UNREVOKED_PARTITIONS   something has to go
      |   <------------  |                it is gone
      v                  v
    UNRELEASED_PARTITIONS                 something has to come that another still has
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from headrace.base.errors import ErrorCode, KafkaError
from headrace.groups.consumer.member import (
    Member,
    MemberState,
    Partitions,
    Reported,
    owns_any,
)

_NOTHING: dict[int, int] = {}
_NO_PARTITIONS: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Aim:
    """Where a member is to go, and what counts on the way."""

    epoch: int
    target: Partitions
    #: The topics that it reads now; the target may be older than its subscription.
    topic_ids: Container[bytes]
    #: Whether another member has a partition, or has not given it up yet.
    is_taken: Callable[[bytes, int], bool]
    #: What the member said in this heartbeat that it owns.
    reported: Reported
    has_subscription_changed: bool


class _Split(NamedTuple):
    """What the member has and is to have, told apart."""

    kept: dict[bytes, dict[int, int]]
    to_revoke: dict[bytes, dict[int, int]]
    to_assign: dict[bytes, set[int]]
    waits: bool


def reconcile(member: Member, aim: Aim) -> Member:
    """The member after this step; the same object if there is nothing to do."""
    if not aim.has_subscription_changed and member.is_reconciled_to(aim.epoch):
        return member
    if member.state is MemberState.STABLE and member.member_epoch == aim.epoch:
        return _without_unread_topics(member, aim)
    if member.state is MemberState.UNREVOKED_PARTITIONS and owns_any(
        aim.reported, member.pending_revocation
    ):
        return _without_unread_topics(member, aim) if aim.has_subscription_changed else member
    if member.state is MemberState.UNKNOWN:
        # A newer coordinator left it in a state that we cannot judge: it starts anew.
        if aim.reported is None or aim.reported:
            raise KafkaError(
                ErrorCode.FENCED_MEMBER_EPOCH,
                "The consumer group member is in a unknown state. The member must abandon all its"
                " partitions and rejoin.",
            )
        return _step(member, aim, aim.epoch)
    return _step(member, aim, member.member_epoch)


def _step(member: Member, aim: Aim, epoch_of_revocation: int) -> Member:
    split = _split(member, aim)
    if split.to_revoke and owns_any(aim.reported, split.to_revoke):
        return member.moved_to(
            epoch_of_revocation,
            state=MemberState.UNREVOKED_PARTITIONS,
            assigned=split.kept,
            pending_revocation=split.to_revoke,
        )
    for topic_id, partitions in split.to_assign.items():
        epochs = split.kept.setdefault(topic_id, {})
        epochs.update(dict.fromkeys(sorted(partitions), aim.epoch))
    return member.moved_to(
        aim.epoch,
        state=MemberState.UNRELEASED_PARTITIONS if split.waits else MemberState.STABLE,
        assigned=split.kept,
        pending_revocation={},
    )


def _split(member: Member, aim: Aim) -> _Split:
    split = _Split({}, {}, {}, waits=False)
    waits = False
    for topic_id in {**aim.target, **member.assigned}:
        owned = member.assigned.get(topic_id, _NOTHING)
        target = _NO_PARTITIONS
        if topic_id in aim.topic_ids:
            target = aim.target.get(topic_id, _NO_PARTITIONS)
        kept = {partition: epoch for partition, epoch in owned.items() if partition in target}
        if len(kept) < len(owned):
            split.to_revoke[topic_id] = {
                partition: epoch for partition, epoch in owned.items() if partition not in kept
            }
        if kept:
            split.kept[topic_id] = kept
        if len(kept) < len(target):
            # What the member itself is giving up is not taken by another: it can have it back.
            own = member.pending_revocation.get(topic_id, _NOTHING)
            missing = target - kept.keys()
            free = {one for one in missing if one in own or not aim.is_taken(topic_id, one)}
            waits = waits or len(free) < len(missing)
            if free:
                split.to_assign[topic_id] = free
    return split._replace(waits=waits)


def _without_unread_topics(member: Member, aim: Aim) -> Member:
    """Take away topics that the member no longer reads, without a look at the rest."""
    kept: dict[bytes, Mapping[int, int]] = {}
    revoked: dict[bytes, Mapping[int, int]] = dict(member.pending_revocation)
    for topic_id, epochs in member.assigned.items():
        if topic_id in aim.topic_ids:
            kept[topic_id] = epochs
        else:
            revoked[topic_id] = {**revoked.get(topic_id, _NOTHING), **epochs}
    if len(kept) == len(member.assigned):
        return member
    if owns_any(aim.reported, revoked):
        return member.moved_to(
            member.member_epoch,
            state=MemberState.UNREVOKED_PARTITIONS,
            assigned=kept,
            pending_revocation=revoked,
        )
    return member.moved_to(member.member_epoch, assigned=kept)
