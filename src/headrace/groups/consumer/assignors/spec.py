"""What an assignor is given and what it gives back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from headrace.groups.consumer.member import Partitions

#: What each member is to own, by member id.
Targets = dict[str, Partitions]


@dataclass(frozen=True, slots=True)
class MemberSpec:
    """A member as an assignor sees it."""

    member_id: str
    instance_id: str | None
    #: The topics it reads, those that exist; members with the same subscription share one object.
    topic_ids: frozenset[bytes]
    #: What it was meant to own until now; never changed by an assignor.
    target: Partitions


@dataclass(frozen=True, slots=True)
class GroupSpec:
    """A group whose partitions are to be assigned; has at least one member."""

    members: list[MemberSpec]
    #: Every topic that a member reads, with its number of partitions; in the order of the ids.
    partition_counts: Mapping[bytes, int]
    #: Whether all members read the same topics.
    is_homogeneous: bool


Assignor = Callable[[GroupSpec], Targets]
