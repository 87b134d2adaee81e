"""A member of a consumer group (KIP-848): one request does it all, and the broker assigns.

Each heartbeat tells what has changed on this side: the subscription, or that the last assignment
has been carried out. The answer may bring a new assignment, which the application carries out at
its next poll; the broker hands a partition to its next owner when this member says that it is gone.
"""

from __future__ import annotations

from collections.abc import Mapping

from headrace.base.errors import ErrorCode
from headrace.client.groups_offsets import Membership
from headrace.client.leaders import TopicPartition
from headrace.client.membership.config import MemberConfig
from headrace.client.membership.machine import Change, MemberMachine
from headrace.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from headrace.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from headrace.protocol.schema import Request, Response

#: Epochs with a meaning of their own.
JOIN, LEAVE, LEAVE_STATIC = 0, -1, -2
_LOST = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH)


class ConsumerMember(MemberMachine):
    """The state machine of one member."""

    def __init__(self, config: MemberConfig, member_id: str) -> None:
        super().__init__(config)
        self.member_id = member_id
        self.epoch = JOIN
        self._is_in = False
        self._tell_all = True
        self._must_tell = False
        self._target: dict[bytes, list[int]] | None = None
        self._names: dict[bytes, str] = {}

    # ---------------------------------------------------------------- for the application

    @property
    def membership(self) -> Membership:
        return Membership(self.member_id, self.epoch, self.config.group_instance_id)

    def subscribe(self, topics: Mapping[str, int]) -> None:
        if topics.keys() != self.topics.keys():
            self._tell_all = self._must_tell = True
        self.topics = dict(topics)

    def carried_out(self, change: Change) -> None:
        if change is not self.pending:
            return
        self.pending = None
        self.owned = self.owned - change.revoked | change.added
        self._must_tell = self._must_tell or not change.is_lost
        self._reconcile()

    def lost(self) -> None:
        self._is_in = False
        self.epoch = JOIN
        self._tell_all = True
        self._target = None
        self.pending = Change(revoked=self.owned, is_lost=True)

    # ---------------------------------------------------------------- for the driver

    def next_request(self, now_ms: float) -> Request | None:
        if self._is_too_late(now_ms) and self._is_in:
            self.lost()
            return self._leave()
        if not self._is_in and (self.pending is not None or not self.topics or self._is_late):
            return None
        unknown = sorted(set(self._target or ()) - self._names.keys())
        if unknown:
            rows = [MetadataRequestTopic(topic_id=topic_id, name=None) for topic_id in unknown]
            return MetadataRequest(topics=rows, allow_auto_topic_creation=False)
        if self._is_in and now_ms < self._beat_due_ms and not self._must_tell:
            return None
        return self._heartbeat()

    def answered(self, answer: Response, now_ms: float) -> None:
        if isinstance(answer, MetadataResponse):
            self._looked_up(answer)
        elif isinstance(answer, ConsumerGroupHeartbeatResponse) and answer.member_epoch >= 0:
            self._beaten(answer, now_ms)

    def not_answered(self) -> None:
        """Nobody knows how much of it arrived: tell everything next time."""
        self._tell_all = True

    def leave_request(self) -> Request | None:
        return self._leave() if self._is_in else None

    # ---------------------------------------------------------------- pieces of the above

    def _heartbeat(self) -> Request:
        config = self.config
        request = ConsumerGroupHeartbeatRequest(
            group_id=config.group_id,
            member_id=self.member_id,
            member_epoch=self.epoch,
            instance_id=config.group_instance_id,
        )
        if self._tell_all or not self._is_in:
            request.rebalance_timeout_ms = config.max_poll_interval_ms
            request.subscribed_topic_names = sorted(self.topics)
            request.server_assignor = config.group_remote_assignor
        if self._tell_all or not self._is_in or self._must_tell:
            request.topic_partitions = self._told_partitions()
        self._tell_all = self._must_tell = False
        return request

    def _told_partitions(self) -> list[TopicPartitions]:
        ids = {name: topic_id for topic_id, name in self._names.items()}
        by_topic: dict[bytes, list[int]] = {}
        for topic, index in sorted(self.owned):
            by_topic.setdefault(ids[topic], []).append(index)
        return [TopicPartitions(topic_id=t, partitions=i) for t, i in by_topic.items()]

    def _leave(self) -> Request:
        """A static member only says that it is away for a while."""
        is_static = self.config.group_instance_id is not None
        return ConsumerGroupHeartbeatRequest(
            group_id=self.config.group_id,
            member_id=self.member_id,
            member_epoch=LEAVE_STATIC if is_static else LEAVE,
            instance_id=self.config.group_instance_id,
        )

    def _beaten(self, answer: ConsumerGroupHeartbeatResponse, now_ms: float) -> None:
        self._beat_due_ms = now_ms + answer.heartbeat_interval_ms
        code = answer.error_code
        if code in _LOST:
            self.lost()
        elif code:
            self._fail(code, answer.error_message)
        else:
            self._is_in = True
            self.epoch = answer.member_epoch
            self.member_id = answer.member_id or self.member_id
            if answer.assignment is not None:
                rows = answer.assignment.topic_partitions
                self._target = {row.topic_id: list(row.partitions) for row in rows}
                self._reconcile()

    def _looked_up(self, answer: MetadataResponse) -> None:
        for row in answer.topics:
            if row.name is not None and not row.error_code:
                self._names[row.topic_id] = row.name
        # A topic that is gone meanwhile is not worth waiting for; the broker will say so too.
        target = self._target or {}
        self._target = {t: indexes for t, indexes in target.items() if t in self._names}
        self._reconcile()

    def _reconcile(self) -> None:
        """Turn the broker's latest word into work, once the application has done the last."""
        target = self._target
        if target is None or self.pending is not None or target.keys() - self._names.keys():
            return
        self._target = None
        wanted = frozenset[TopicPartition](
            (self._names[topic_id], index) for topic_id, rows in target.items() for index in rows
        )
        self.pending = Change(self.owned - wanted, wanted - self.owned, is_assignment=True)
