"""The part of a coordinator that looks after consumer groups."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from headrace.base.outcome import Outcome
from headrace.groups.call import GroupOutcome
from headrace.groups.classic.classic_groups import ClassicGroups
from headrace.groups.consumer.classic_joining import ClassicJoining
from headrace.groups.consumer.classic_living import ClassicLiving
from headrace.groups.consumer.classic_waiting import ClassicWaiting
from headrace.groups.consumer.config import ConsumerGroupConfig, GroupSettings
from headrace.groups.consumer.describing import DescribeConsumerGroups, Describing
from headrace.groups.consumer.downgrading import Downgrading
from headrace.groups.consumer.group import ConsumerGroup
from headrace.groups.consumer.group_epochs import GroupEpochs
from headrace.groups.consumer.heartbeats import Heartbeats
from headrace.groups.consumer.large_assignments import LargeAssignments
from headrace.groups.consumer.leaving import Leaving
from headrace.groups.consumer.member import MemberState
from headrace.groups.consumer.metadata_hash import MetadataHashes
from headrace.groups.consumer.progress import Progress
from headrace.groups.consumer.regex_refresh import REGEX_TIMER, RegexRefresh
from headrace.groups.consumer.replay import Replay
from headrace.groups.consumer.target_assignment import ASSIGNMENT_TIMER, TargetAssignments
from headrace.groups.consumer.timers import (
    CLASSIC_JOIN_TIMER,
    CLASSIC_SYNC_TIMER,
    REVOCATION_TIMER,
    SESSION_TIMER,
    set_timer,
)
from headrace.groups.consumer.upgrading import Upgrading
from headrace.groups.group_store import GroupStore
from headrace.groups.part import Apply, Expire, Handle, Part
from headrace.groups.topics import Topics, TopicView
from headrace.protocol.coordinator_record import CoordinatorRecord
from headrace.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from headrace.protocol.messages.heartbeat import HeartbeatRequest
from headrace.protocol.messages.join_group import JoinGroupRequest
from headrace.protocol.messages.leave_group import LeaveGroupRequest
from headrace.protocol.messages.sync_group import SyncGroupRequest


class ConsumerGroups(Part):
    """Makes the modules beside this one, and leads each thing to its place."""

    def __init__(
        self,
        config: ConsumerGroupConfig,
        settings: GroupSettings,
        groups: GroupStore,
        topics: Topics,
        classic: ClassicGroups,
        classic_members_max: int,
        new_id: Callable[[], str],
    ) -> None:
        """`classic` looks after the groups that consumer groups come from and turn into."""
        self._config = config
        self._settings = settings
        self._groups = groups
        self._hashes = MetadataHashes(topics)
        epochs = GroupEpochs(self._hashes)
        self._regexes = RegexRefresh(config, groups, topics, epochs)
        targets = TargetAssignments(config, settings, topics)
        self._large = LargeAssignments(config, groups, topics, targets)
        progress = Progress(topics, epochs, self._regexes, targets)
        upgrading = Upgrading(config, groups, topics, self._hashes)
        downgrading = Downgrading(config, classic_members_max, classic, topics)
        self._leaving = Leaving(groups, epochs, downgrading.when_gone)
        self._heartbeats = Heartbeats(
            config, settings, groups, progress, self._leaving, upgrading, new_id
        )
        waiting = ClassicWaiting()
        self._classic_joining = ClassicJoining(
            config, groups, topics, classic, progress, downgrading, waiting, new_id
        )
        self._classic_living = ClassicLiving(groups, topics, targets, self._leaving, waiting)
        self._describing = Describing(config, groups, topics)
        self._replay = Replay(groups)

    def requests(self) -> Mapping[type[Any], Handle]:
        return {
            ConsumerGroupHeartbeatRequest: self._heartbeats.heartbeat,
            DescribeConsumerGroups: self._describing.describe,
        }

    def member_requests(self) -> Mapping[type[Any], Handle]:
        return {
            JoinGroupRequest: self._classic_joining.join,
            SyncGroupRequest: self._classic_living.sync,
            HeartbeatRequest: self._classic_living.heartbeat,
            LeaveGroupRequest: self._classic_living.leave,
        }

    def records(self) -> Mapping[type[CoordinatorRecord], Apply]:
        return self._replay.records()

    def timers(self) -> Mapping[str, Expire]:
        return {
            SESSION_TIMER: self._leaving.session_expired,
            REVOCATION_TIMER: self._leaving.revocation_expired,
            CLASSIC_JOIN_TIMER: self._leaving.classic_join_expired,
            CLASSIC_SYNC_TIMER: self._leaving.classic_sync_expired,
            REGEX_TIMER: self._regexes.timer_expired,
            ASSIGNMENT_TIMER: self._large.timer_expired,
        }

    def loaded(self, now_ms: int) -> GroupOutcome:
        """Members of the last run have their session time to show up."""
        self._regexes.loaded()
        outcome: GroupOutcome = Outcome()
        for group in self._groups:
            if not isinstance(group, ConsumerGroup):
                continue
            timing = self._config.timing(self._settings(group.group_id))
            expires_ms = now_ms + timing.session_timeout_ms
            for member in group.members:
                timer = set_timer(SESSION_TIMER, group.group_id, member.member_id, expires_ms)
                outcome.timers.append(timer)
                if member.state is MemberState.UNREVOKED_PARTITIONS:
                    at_ms = now_ms + member.rebalance_timeout_ms
                    timer = set_timer(REVOCATION_TIMER, group.group_id, member.member_id, at_ms)
                    outcome.timers.append(timer)
        return outcome

    def topics_changed(
        self, changed: Collection[str], deleted: Collection[TopicView], now_ms: int
    ) -> GroupOutcome:
        """Groups that read them look again with the next heartbeat."""
        gone = {view.name for view in deleted}
        names = gone.union(changed)
        for name in names:
            self._hashes.forget(name)
        self._regexes.topics_changed(changed, gone)
        for group in self._groups:
            if isinstance(group, ConsumerGroup) and any(map(group.is_subscribed_to, names)):
                group.topics_changed()
        return Outcome()
