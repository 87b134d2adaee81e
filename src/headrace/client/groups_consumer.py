"""A consumer in a group, for our own tools: membership, positions and commits around a reader."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from headrace.base.errors import ErrorCode, KafkaError
from headrace.client.blocking import KafkaClient
from headrace.client.errors import error_for_code
from headrace.client.fetching import FetchConfig, PartitionReader
from headrace.client.groups_member import LOST, Assignment, GroupMember, MemberConfig
from headrace.client.groups_offsets import CommittedOffset, commit_offsets, committed_offsets
from headrace.client.leaders import TopicPartition
from headrace.client.offsets import list_offsets, require_offsets

#: Where to begin when nothing is committed: a timestamp for ListOffsets, or None for an error.
ResetPolicy = int | None


@dataclass(frozen=True, slots=True)
class GroupConsumerConfig:
    """The names are those of Kafka's consumer settings."""

    member: MemberConfig
    fetch: FetchConfig
    enable_auto_commit: bool = True
    auto_commit_interval_ms: int = 5_000
    metadata_max_age_ms: int = 5_000


class RebalanceListener(Protocol):
    """Who wants to know which partitions come and go."""

    def revoked(self, partitions: Iterable[TopicPartition]) -> None: ...

    def assigned(self, partitions: Iterable[TopicPartition]) -> None: ...


class GroupConsumer:
    """`keep_up` before every poll of `reader`, `took` after every batch, `close` at the end."""

    def __init__(
        self,
        client: KafkaClient,
        config: GroupConsumerConfig,
        find_topics: Callable[[], Mapping[str, int]],
        listener: RebalanceListener | None = None,
    ) -> None:
        """`find_topics` tells the topics to subscribe to, with how many partitions each has."""
        self._client = client
        self._config = config
        self._find_topics = find_topics
        self._listener = listener
        self._group = config.member.group_id
        self._member = GroupMember(client, config.member)
        self._topics: Mapping[str, int] = {}
        self._look_at = 0.0
        self._commit_at = 0.0
        self._taken: dict[TopicPartition, int] = {}
        self.reader = PartitionReader(client, config.fetch)

    def keep_up(self) -> None:
        """Do what the group wants of its members now; may wait for a rebalance to end."""
        has_changed = self._look_for_topics()
        if not self._topics:
            return
        if has_changed or not self._member.is_in_place():
            self._rebalance()
        elif self._config.enable_auto_commit and time.monotonic() >= self._commit_at:
            self._auto_commit()

    def took(self, partition: TopicPartition, next_offset: int) -> None:
        """All records of a partition before this offset are dealt with."""
        if partition in self.reader.positions:
            self._taken[partition] = next_offset

    def commit(self, offsets: Mapping[TopicPartition, int] | None = None) -> None:
        """Commit these offsets, or how far all partitions are; raises what the group says."""
        wanted = dict(self._taken if offsets is None else offsets)
        rows = {partition: CommittedOffset(offset) for partition, offset in wanted.items()}
        commit_offsets(self._client, self._group, rows, self._member.membership)
        for partition, offset in wanted.items():
            if self._taken.get(partition) == offset:
                del self._taken[partition]

    def close(self) -> None:
        """Commit what is dealt with, and leave the group."""
        if self._config.enable_auto_commit:
            self._auto_commit()
        self._give_up_partitions()
        with contextlib.suppress(KafkaError):  # the session will time out instead
            self._member.leave()

    # ---------------------------------------------------------------- rebalances

    def _look_for_topics(self) -> bool:
        """Whether the subscription has changed, or what the leader has to share out."""
        if time.monotonic() < self._look_at:
            return False
        self._look_at = time.monotonic() + self._config.metadata_max_age_ms / 1000
        found = dict(self._find_topics())
        known, self._topics = self._topics, found
        if not found:
            self._look_at = 0.0
        assignment = self._member.assignment
        if assignment is None:
            return False
        return found.keys() != known.keys() or (assignment.is_leader and found != known)

    def _rebalance(self) -> None:
        if self._config.enable_auto_commit:
            self._auto_commit()
        self._give_up_partitions()
        assignment = self._member.join(self._topics)
        self.reader.assign(self._start_positions(assignment))
        self._commit_at = time.monotonic() + self._config.auto_commit_interval_ms / 1000
        if self._listener is not None:
            self._listener.assigned(sorted(assignment.partitions))

    def _give_up_partitions(self) -> None:
        had = sorted(self.reader.positions)
        self.reader.positions.clear()
        self._taken.clear()
        if self._listener is not None and self._member.membership.member_id:
            self._listener.revoked(had)

    def _start_positions(self, assignment: Assignment) -> dict[TopicPartition, int]:
        committed = committed_offsets(self._client, self._group, require_stable=True)
        positions = {
            partition: committed[partition].offset
            for partition in assignment.partitions
            if partition in committed
        }
        new = sorted(assignment.partitions - positions.keys())
        if not new:
            return positions
        if self._config.fetch.reset_to is None:
            names = ", ".join(f"{topic}-{index}" for topic, index in new)
            raise error_for_code(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"Undefined offset with no reset policy for partitions: [{names}]",
            )
        wanted = dict.fromkeys(new, self._config.fetch.reset_to)
        return positions | require_offsets(list_offsets(self._client, wanted))

    def _auto_commit(self) -> None:
        """A commit that comes too late for its generation is not an error: others go on there."""
        self._commit_at = time.monotonic() + self._config.auto_commit_interval_ms / 1000
        if not self._taken or self._member.assignment is None:
            return
        try:
            self.commit()
        except KafkaError as error:
            if error.code in LOST:
                self._member.forget()
            elif error.code is not ErrorCode.REBALANCE_IN_PROGRESS:
                raise
