"""The part of a coordinator that keeps committed offsets, for groups of all kinds."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from headrace.base.outcome import Outcome
from headrace.groups.call import GroupOutcome
from headrace.groups.classic.group import ClassicGroup
from headrace.groups.config import GroupConfig
from headrace.groups.group_store import GroupStore
from headrace.groups.offset_commits import OffsetCommits
from headrace.groups.offset_deletions import EXPIRY_TIMER, OffsetDeletions
from headrace.groups.offset_reads import FetchOffsets, OffsetReads
from headrace.groups.offset_store import OffsetStore
from headrace.groups.part import Apply, Expire, Handle, Part
from headrace.groups.records import (
    LegacyOffsetCommitKey,
    LegacyOffsetCommitValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from headrace.groups.repeated_commit import RepeatedCommit
from headrace.groups.topics import Topics, TopicView
from headrace.protocol.coordinator_record import CoordinatorRecord
from headrace.protocol.messages.offset_commit import OffsetCommitRequest
from headrace.protocol.messages.offset_delete import OffsetDeleteRequest
from headrace.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest


class Offsets(Part):
    """Commits, reads, deletions and expiry over one store."""

    def __init__(self, config: GroupConfig, groups: GroupStore, topics: Topics) -> None:
        self.store = OffsetStore()
        self.deletions = OffsetDeletions(config, groups, self.store)
        self._groups = groups
        self._commits = OffsetCommits(config, groups, topics)
        self._reads = OffsetReads(groups, self.store)

    def requests(self) -> Mapping[type[Any], Handle]:
        return {
            OffsetCommitRequest: self._commits.commit,
            RepeatedCommit: self._commits.commit_again,
            TxnOffsetCommitRequest: self._commits.commit_in_transaction,
            FetchOffsets: self._reads.fetch,
            OffsetDeleteRequest: self.deletions.delete,
        }

    def records(self) -> Mapping[type[CoordinatorRecord], Apply]:
        return {OffsetCommitKey: self._apply, LegacyOffsetCommitKey: self._apply_legacy}

    def timers(self) -> Mapping[str, Expire]:
        return {EXPIRY_TIMER: self.deletions.expire}

    def loaded(self, now_ms: int) -> GroupOutcome:
        return Outcome(timers=[self.deletions.first_check(now_ms)])

    def topics_changed(
        self, changed: Collection[str], deleted: Collection[TopicView], now_ms: int
    ) -> GroupOutcome:
        return self.deletions.of_topics(deleted) if deleted else Outcome()

    def _apply(
        self, key: OffsetCommitKey, value: OffsetCommitValue | None, producer_id: int
    ) -> None:
        if value is not None and self._groups.get(key.group) is None:
            # Offsets without members: Kafka calls it a simple group.
            self._groups.put(ClassicGroup(key.group))
        self.store.apply(key, value, producer_id)

    def _apply_legacy(
        self, key: LegacyOffsetCommitKey, value: LegacyOffsetCommitValue | None, producer_id: int
    ) -> None:
        """The first layout, which old logs may still have."""
        modern = None
        if value is not None:
            modern = OffsetCommitValue(
                offset=value.offset,
                metadata=value.metadata,
                commit_timestamp=value.commit_timestamp,
            )
        current = OffsetCommitKey(group=key.group, topic=key.topic, partition=key.partition)
        self._apply(current, modern, producer_id)
