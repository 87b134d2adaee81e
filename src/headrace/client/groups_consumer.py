"""A consumer in a group, for our own tools: membership, positions and commits around a reader."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from headrace.base.errors import ErrorCode, KafkaError
from headrace.client.blocking import KafkaClient
from headrace.client.errors import error_for_code
from headrace.client.fetch_request import FetchConfig
from headrace.client.fetching import PartitionReader
from headrace.client.groups_offsets import CommittedOffset, commit_offsets, committed_offsets
from headrace.client.leaders import TopicPartition
from headrace.client.membership.config import MemberConfig
from headrace.client.membership.machine import Change
from headrace.client.membership.member import GroupMember
from headrace.client.resetting import reset_positions

#: After these the member is in the group no more, and has to join again.
_LOST = (
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.ILLEGAL_GENERATION,
    ErrorCode.FENCED_MEMBER_EPOCH,
)
_STALE_ATTEMPTS = 3


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

    def lost(self, partitions: Iterable[TopicPartition]) -> None: ...

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
        self._member = GroupMember(client.config, config.member)
        self._has_joined = False
        self._look_at = 0.0
        self._commit_at = 0.0
        #: What is dealt with and not committed yet.
        self._taken: dict[TopicPartition, CommittedOffset] = {}
        self.reader = PartitionReader(client, config.fetch, self._was_reset)

    def keep_up(self, wait_ms: int = 0) -> None:
        """Do what the group wants of its members now.

        While there is nothing to read, it waits so long for that to change.
        """
        self._look_for_topics()
        change = self._member.poll(0 if self.reader.positions else wait_ms)
        if change is not None:
            self._carry_out(change)
        elif self._config.enable_auto_commit and time.monotonic() >= self._commit_at:
            self._auto_commit()

    def took(self, partition: TopicPartition, next_offset: int, leader_epoch: int = -1) -> None:
        """All records of a partition before this offset are dealt with; the last's epoch."""
        if partition in self.reader.positions:
            self._taken[partition] = CommittedOffset(next_offset, leader_epoch)

    def commit(self, offsets: Mapping[TopicPartition, int] | None = None) -> None:
        """Commit these offsets, or how far all partitions are; raises what the group says."""
        if offsets is None:
            rows = dict(self._taken)
        else:
            rows = {partition: CommittedOffset(offset) for partition, offset in offsets.items()}
        self._commit(rows)
        for partition, row in rows.items():
            taken = self._taken.get(partition)
            if taken is not None and taken.offset == row.offset:
                del self._taken[partition]

    def close(self) -> None:
        """Commit what is dealt with, give everything up, and leave the group."""
        try:
            if self._config.enable_auto_commit:
                self._auto_commit()
            had = frozenset(self.reader.positions)
            self._give_up(had)
            if self._listener is not None and self._has_joined:
                self._listener.revoked(sorted(had))
        finally:
            self._member.close()

    # ---------------------------------------------------------------- rebalances

    def _look_for_topics(self) -> None:
        if time.monotonic() < self._look_at:
            return
        found = dict(self._find_topics())
        if found:
            self._look_at = time.monotonic() + self._config.metadata_max_age_ms / 1000
            self._member.subscribe(found)

    def _carry_out(self, change: Change) -> None:
        """What goes is committed and told of before anything comes (KIP-429's order)."""
        if self._config.enable_auto_commit and not change.is_lost:
            self._auto_commit()
        # What the group has given away may include what came while it did so.
        going = frozenset(self.reader.positions) if change.is_lost else change.revoked
        self._give_up(going)
        # An eager member tells of every rebalance, a cooperative one only of what really goes.
        is_eager = not (self._config.member.is_cooperative or change.is_assignment)
        is_told = bool(going) or (is_eager and not change.is_lost)
        if self._listener is not None and self._has_joined and is_told:
            tell = self._listener.lost if change.is_lost else self._listener.revoked
            tell(sorted(going))
        if change.is_assignment:
            self.reader.assign(self._start_positions(change.added))
            self._has_joined = True
            self._commit_at = time.monotonic() + self._config.auto_commit_interval_ms / 1000
        self._member.carried_out(change)
        if change.is_assignment and self._listener is not None:
            self._listener.assigned(sorted(change.added))

    def _give_up(self, partitions: Iterable[TopicPartition]) -> None:
        for partition in partitions:
            self.reader.positions.pop(partition, None)
            self._taken.pop(partition, None)

    def _start_positions(self, added: frozenset[TopicPartition]) -> dict[TopicPartition, int]:
        if not added:
            return {}
        committed = committed_offsets(self._client, self._group, require_stable=True)
        positions = {p: committed[p].offset for p in added if p in committed}
        new = sorted(added - positions.keys())
        if not new:
            return positions
        if self._config.fetch.reset_to is None:
            names = ", ".join(f"{topic}-{index}" for topic, index in new)
            raise error_for_code(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"Undefined offset with no reset policy for partitions: [{names}]",
            )
        found = reset_positions(
            self._client,
            new,
            self._config.fetch.reset_to,
            read_committed=self._config.fetch.read_committed,
        )
        self._was_reset(found)
        return positions | found

    def _was_reset(self, found: dict[TopicPartition, int]) -> None:
        """Where reading begins is committed even if nothing comes: the next member reads on there.

        Otherwise what arrives between two members would be before the end that the second finds.
        There is no epoch to such an offset, as in Java's consumer: nothing was read there.
        """
        if self._config.enable_auto_commit:
            self._taken |= {tp: CommittedOffset(offset) for tp, offset in found.items()}

    # ---------------------------------------------------------------- commits

    def _commit(self, rows: Mapping[TopicPartition, CommittedOffset]) -> None:
        """Again with the new epoch when it moved on meanwhile, which costs a member nothing."""
        for attempt in range(_STALE_ATTEMPTS):
            membership = self._member.membership
            try:
                commit_offsets(self._client, self._group, rows, membership)
            except KafkaError as error:
                is_last = attempt == _STALE_ATTEMPTS - 1
                if error.code is not ErrorCode.STALE_MEMBER_EPOCH or is_last:
                    raise
                time.sleep(self._client.config.retry_backoff_ms / 1000)
            else:
                return

    def _auto_commit(self) -> None:
        """A commit that comes too late for its generation is not an error: others go on there."""
        self._commit_at = time.monotonic() + self._config.auto_commit_interval_ms / 1000
        if not self._taken:
            return
        try:
            self.commit()
        except KafkaError as error:
            if error.code in _LOST:
                self._member.lost()
            elif error.code not in (ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.STALE_MEMBER_EPOCH):
                raise
