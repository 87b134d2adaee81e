"""What an assignor is given and what it gives back."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from headrace.groups.consumer.member import Partitions

#: What each member is to own, by member id.
Targets = dict[str, Partitions]

T = TypeVar("T")
#: Work that stops now and then, so that others have their turn, and has a result in the end.
Steps = Generator[None, None, T]

#: How many members or moves an assignor looks at between two stops; a few milliseconds.
STEP = 1_000


class MemberSpec(NamedTuple):
    """A member as an assignor sees it."""

    member_id: str
    instance_id: str | None
    #: The topics it reads, those that exist; members with the same subscription share one object.
    topic_ids: frozenset[bytes]
    #: What it was meant to own until now; never changed by an assignor.
    target: Partitions


class GroupSpec(NamedTuple):
    """A group whose partitions are to be assigned; has at least one member."""

    members: list[MemberSpec]
    #: Every topic that a member reads, with its number of partitions; in the order of the ids.
    partition_counts: Mapping[bytes, int]
    #: Whether all members read the same topics.
    is_homogeneous: bool


Assignor = Callable[[GroupSpec], Steps[Targets]]


def slices(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """The items in portions of one step."""
    for start in range(0, len(items), STEP):
        yield items[start : start + STEP]


def finish(steps: Steps[T]) -> T:
    """All the work at once."""
    while True:
        try:
            next(steps)
        except StopIteration as done:
            result: T = done.value
            return result
