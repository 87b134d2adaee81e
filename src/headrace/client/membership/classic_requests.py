"""The requests of a member of a classic group."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from headrace.client.assignors.subscriber import NO_GENERATION
from headrace.client.groups_protocol import write_subscription
from headrace.client.leaders import TopicPartition
from headrace.client.membership.config import MemberConfig
from headrace.protocol.messages.heartbeat import HeartbeatRequest
from headrace.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from headrace.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from headrace.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from headrace.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment

_PROTOCOL_TYPE = "consumer"


class ClassicRequests:
    """Builds them; it also remembers the last assignment, which the sticky assignor is told."""

    def __init__(self, config: MemberConfig) -> None:
        self._config = config
        self._last: frozenset[TopicPartition] = frozenset()
        self._last_generation = NO_GENERATION

    def remember(self, assigned: frozenset[TopicPartition], generation: int) -> None:
        self._last, self._last_generation = assigned, generation

    def join(
        self,
        member_id: str,
        topics: Iterable[str],
        owned: Iterable[TopicPartition],
        generation: int,
    ) -> JoinGroupRequest:
        config = self._config
        names = list(topics)
        return JoinGroupRequest(
            group_id=config.group_id,
            session_timeout_ms=config.session_timeout_ms,
            rebalance_timeout_ms=config.max_poll_interval_ms,
            member_id=member_id,
            group_instance_id=config.group_instance_id,
            protocol_type=_PROTOCOL_TYPE,
            protocols=[
                JoinGroupRequestProtocol(
                    name=strategy.name,
                    metadata=write_subscription(
                        names,
                        owned=owned,
                        generation=generation,
                        assignor=strategy.name,
                        last=self._last,
                        last_generation=self._last_generation,
                    ),
                )
                for strategy in config.strategies
            ],
        )

    def sync(
        self, member_id: str, generation: int, strategy: str, shares: Mapping[str, bytes]
    ) -> SyncGroupRequest:
        return SyncGroupRequest(
            group_id=self._config.group_id,
            generation_id=generation,
            member_id=member_id,
            group_instance_id=self._config.group_instance_id,
            protocol_type=_PROTOCOL_TYPE,
            protocol_name=strategy,
            assignments=[
                SyncGroupRequestAssignment(member_id=member, assignment=share)
                for member, share in shares.items()
            ],
        )

    def heartbeat(self, member_id: str, generation: int) -> HeartbeatRequest:
        return HeartbeatRequest(
            group_id=self._config.group_id,
            generation_id=generation,
            member_id=member_id,
            group_instance_id=self._config.group_instance_id,
        )

    def leave(self, member_id: str, reason: str) -> LeaveGroupRequest:
        row = MemberIdentity(member_id=member_id, reason=reason)
        return LeaveGroupRequest(group_id=self._config.group_id, member_id=member_id, members=[row])

    def metadata(self, topics: Iterable[str]) -> MetadataRequest:
        rows = [MetadataRequestTopic(name=name) for name in topics]
        return MetadataRequest(topics=rows, allow_auto_topic_creation=False)
