"""One member of a consumer group, as its records have it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Any, Protocol

from headrace.groups.records import ClassicMemberMetadata

#: Partitions by topic id.
Partitions = Mapping[bytes, frozenset[int]]
#: The same, each partition with the epoch in which the member got it (KIP-1251).
OwnedPartitions = Mapping[bytes, Mapping[int, int]]

#: Epochs with a meaning of their own, in heartbeats and in records.
JOINING_EPOCH = 0
LEFT_EPOCH = -1
STATIC_LEFT_EPOCH = -2

#: A rebalance time-out that a request leaves out: it stays what it was.
TIMEOUT_NOT_SAID = -1


class ReportedPartitions(Protocol):
    """Partitions of one topic that a member says it owns."""

    topic_id: bytes
    partitions: list[int]


#: What a member says it owns; None if it says nothing, because nothing changed.
Reported = Sequence[ReportedPartitions] | None


class MemberState(IntEnum):
    """Where a member stands on the way to its target assignment; values as in the records."""

    STABLE = 0
    #: It still has to give up partitions, and stays in its epoch until it has.
    UNREVOKED_PARTITIONS = 1
    #: It waits for partitions that others still have.
    UNRELEASED_PARTITIONS = 2
    #: Written by a newer coordinator.
    UNKNOWN = 127

    @classmethod
    def _missing_(cls, value: object) -> MemberState:
        return cls.UNKNOWN


@dataclass(frozen=True, slots=True)
class Member:
    """Never changed, only replaced: by an applied record, or for the length of one request."""

    member_id: str
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: int = TIMEOUT_NOT_SAID
    subscribed_topic_names: frozenset[str] = frozenset()
    subscribed_topic_regex: str = ""
    server_assignor: str | None = None
    #: Only if the member speaks the classic protocol.
    classic: ClassicMemberMetadata | None = None
    member_epoch: int = JOINING_EPOCH
    previous_member_epoch: int = -1
    state: MemberState = MemberState.STABLE
    assigned: OwnedPartitions = field(default_factory=dict)
    pending_revocation: OwnedPartitions = field(default_factory=dict)

    def but(self, **changes: Any) -> Member:
        return replace(self, **changes)

    def moved_to(self, epoch: int, **changes: Any) -> Member:
        """In another epoch; it may still come with the one before, if our answer was lost."""
        return replace(self, member_epoch=epoch, previous_member_epoch=self.member_epoch, **changes)

    def timeout_after(self, said_ms: int) -> int:
        """The rebalance time-out after a request that says this one."""
        return self.rebalance_timeout_ms if said_ms == TIMEOUT_NOT_SAID else said_ms

    @property
    def uses_classic_protocol(self) -> bool:
        return self.classic is not None

    def is_reconciled_to(self, epoch: int) -> bool:
        return self.state is MemberState.STABLE and self.member_epoch == epoch

    def assignment_epoch(self, topic_id: bytes, partition: int) -> int | None:
        """In which epoch the member got a partition that it has or still has to give up."""
        for owned in (self.assigned, self.pending_revocation):
            epochs = owned.get(topic_id)
            if epochs is not None and partition in epochs:
                return epochs[partition]
        return None


def owns_any(reported: Reported, owned: OwnedPartitions) -> bool:
    """Whether the member has, or may have, one of these partitions."""
    if reported is None:
        return True
    for topic in reported:
        epochs = owned.get(topic.topic_id)
        if epochs and not epochs.keys().isdisjoint(topic.partitions):
            return True
    return False


def owns_only(reported: Reported, owned: OwnedPartitions) -> bool:
    """Whether the member said what it owns, and has nothing but some of these partitions."""
    if reported is None:
        return False
    for topic in reported:
        epochs = owned.get(topic.topic_id)
        if epochs is None or not epochs.keys() >= set(topic.partitions):
            return False
    return True
