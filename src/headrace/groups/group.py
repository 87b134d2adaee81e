"""What all kinds of groups have in common, as far as offsets, listing and deletion care.

A classic group (`groups.classic`) elects a leader that assigns partitions; a consumer group
(`groups.consumer`, KIP-848) is assigned by the coordinator. Both keep their committed offsets in
the same place, and each knows itself who may commit to it and when its offsets grow old.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from enum import Enum
from typing import ClassVar

from headrace.base.outcome import SetTimer
from headrace.protocol.coordinator_record import CoordinatorRecord
from headrace.protocol.messages.list_groups import ListedGroup

#: What the consumers of both protocols call themselves.
CONSUMER_PROTOCOL_TYPE = "consumer"

#: A record of `__consumer_offsets`: key and value, no value for a tombstone.
KeyValue = tuple[CoordinatorRecord, CoordinatorRecord | None]

#: Looks at one partition of a commit by topic name, topic id and index; raises `KafkaError`.
PartitionCheck = Callable[[str, bytes, int], None]


class GroupType(Enum):
    """The kinds of groups, with the names that ListGroups answers."""

    CLASSIC = "classic"
    CONSUMER = "consumer"


class Group(ABC):
    """One group; lives in `GroupStore` under its id."""

    type: ClassVar[GroupType]

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id

    @property
    @abstractmethod
    def state_name(self) -> str:
        """The state in Kafka's words: `Empty`, `Stable`, `PreparingRebalance`, ..."""

    @property
    @abstractmethod
    def listed_protocol_type(self) -> str:
        """What ListGroups says: `consumer`, `connect`, or nothing for a group without members."""

    @property
    @abstractmethod
    def is_empty(self) -> bool:
        """No members, so the group may be deleted and expire."""

    @abstractmethod
    def has_member(self, member_id: str) -> bool: ...

    @abstractmethod
    def validate_offset_commit(
        self,
        member_id: str,
        group_instance_id: str | None,
        generation_or_epoch: int,
        *,
        is_transactional: bool,
        api_version: int,
    ) -> PartitionCheck | None:
        """Raise `KafkaError` unless the sender may commit; may return a check for each partition.

        A check that raises refuses the whole commit, as in Kafka (KIP-1251).
        """

    def keep_alive(self, member_id: str, now_ms: int) -> SetTimer | None:
        """An accepted commit shows that its sender lives, where the protocol has it so."""
        return None

    @abstractmethod
    def validate_offset_fetch(self, member_id: str | None, member_epoch: int) -> None:
        """Raise `KafkaError` unless the sender may read the group's offsets."""

    @abstractmethod
    def validate_offset_delete(self) -> None:
        """Raise `KafkaError` if offsets cannot be deleted now."""

    @abstractmethod
    def validate_delete(self) -> None:
        """Raise `KafkaError` unless the group can be deleted now."""

    @abstractmethod
    def is_subscribed_to(self, topic: str) -> bool:
        """Whether a member reads the topic: its offsets are then neither deleted nor expired."""

    @abstractmethod
    def retention_base_ms(self, commit_timestamp_ms: int) -> int | None:
        """From when on retention counts for an offset committed at that time.

        None while the group keeps all its offsets.
        """

    @abstractmethod
    def tombstones(self) -> list[KeyValue]:
        """The records that delete the group, its offsets aside."""

    def as_listed(self) -> ListedGroup:
        """The group in the answer to ListGroups."""
        return ListedGroup(
            group_id=self.group_id,
            protocol_type=self.listed_protocol_type,
            group_state=self.state_name,
            group_type=self.type.value,
        )

    def is_in(self, states: frozenset[str]) -> bool:
        """Whether the group is in one of the states, given in lower case."""
        return self.state_name.lower() in states
