"""What every heartbeat sets in motion: subscription, group epoch, target, and a step towards it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from headrace.base.outcome import CancelTimer, SetTimer
from headrace.groups.call import Client, GroupOutcome
from headrace.groups.consumer.group import ConsumerGroup
from headrace.groups.consumer.group_epochs import GroupEpochs
from headrace.groups.consumer.member import Member, MemberState, Reported
from headrace.groups.consumer.member_records import current_assignment_record, subscription_record
from headrace.groups.consumer.reconciliation import Aim, reconcile
from headrace.groups.consumer.regex_refresh import RegexChange, RegexRefresh
from headrace.groups.consumer.target_assignment import Change, Target, TargetAssignments
from headrace.groups.consumer.target_spec import ReadBy
from headrace.groups.consumer.timers import REVOCATION_TIMER, cancel_timer, set_timer
from headrace.groups.topics import Topics


@dataclass(frozen=True, slots=True)
class Update:
    """A member as it was, as it describes itself now, and what it says it owns."""

    old: Member
    new: Member
    reported: Reported
    client: Client
    now_ms: int


@dataclass(frozen=True, slots=True)
class Changed:
    """A group as it will be, and what is new about this member's subscription."""

    change: Change
    has_subscription_changed: bool
    #: The topics of its regular expression are not known yet; a new target follows when they are.
    is_regex_pending: bool


class Progressed(NamedTuple):
    """A member after its heartbeat, and the target that it is on its way to."""

    member: Member
    target: Target
    #: The group has moved on, or is about to, and the target for that is not made yet.
    awaits_target: bool


class Progress:
    """The common part of heartbeats and of joins by members of the classic protocol."""

    def __init__(
        self,
        topics: Topics,
        epochs: GroupEpochs,
        regexes: RegexRefresh,
        targets: TargetAssignments,
    ) -> None:
        self._topics = topics
        self._epochs = epochs
        self._regexes = regexes
        self._targets = targets

    def advance(self, group: ConsumerGroup, update: Update, outcome: GroupOutcome) -> Progressed:
        """Everything new goes into the outcome."""
        changed = self.subscribe(group, update, outcome)
        target = self._targets.update(group, changed.change, update.now_ms, outcome)
        member = self.step(group, update, changed, target, outcome)
        has_moved_on = target.epoch < changed.change.group_epoch
        return Progressed(member, target, has_moved_on or changed.is_regex_pending)

    def subscribe(self, group: ConsumerGroup, update: Update, outcome: GroupOutcome) -> Changed:
        """Take note of what the member reads, and raise the epoch if that is news."""
        old, new, now_ms = update.old, update.new, update.now_ms
        have_names_changed = False
        if new != old:
            outcome.records.append(subscription_record(group.group_id, new))
            have_names_changed = new.subscribed_topic_names != old.subscribed_topic_names
        regex = self._regexes.member_changed(group, old, new, update.client, now_ms, outcome)
        # Topics of an expression that is not looked up yet come later, with an epoch of their own;
        # a member of the classic protocol has no other way to hear of them than a new epoch now.
        regex_counts = regex is RegexChange.RESOLVED or (
            new.uses_classic_protocol and regex is RegexChange.UPDATED
        )
        change = self._epochs.member_changed(
            group,
            old,
            new,
            must_rise=have_names_changed or regex_counts or group.was_rebalancing,
            now_ms=now_ms,
            outcome=outcome,
        )
        return Changed(
            change,
            have_names_changed or regex is not RegexChange.NONE,
            regex is RegexChange.UPDATED,
        )

    def step(
        self,
        group: ConsumerGroup,
        update: Update,
        changed: Changed,
        target: Target,
        outcome: GroupOutcome,
    ) -> Member:
        """Reconcile the member, and watch how long it takes to give up partitions."""
        before = update.new
        if not changed.has_subscription_changed and before.is_reconciled_to(target.epoch):
            return before  # by far the most heartbeats end here
        aim = Aim(
            target.epoch,
            target.partitions,
            ReadBy(before, changed.change.subscriptions, self._topics),
            lambda topic_id, partition: group.members.owner(topic_id, partition) is not None,
            update.reported,
            changed.has_subscription_changed,
        )
        after = reconcile(before, aim)
        if after == before:
            return before
        outcome.records.append(current_assignment_record(group.group_id, after))
        if not after.uses_classic_protocol:
            outcome.timers.append(_revocation_timer(group.group_id, after, update.now_ms))
        return after


def _revocation_timer(group_id: str, member: Member, now_ms: int) -> SetTimer | CancelTimer:
    if member.state is MemberState.UNREVOKED_PARTITIONS:
        at_ms = now_ms + member.rebalance_timeout_ms
        return set_timer(REVOCATION_TIMER, group_id, member.member_id, at_ms)
    return cancel_timer(REVOCATION_TIMER, group_id, member.member_id)
