"""What group coordinators know about topics; the broker shows them its metadata through this."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol


class TopicView(NamedTuple):
    """A topic as of now."""

    name: str
    topic_id: bytes
    partition_count: int


class Topics(Protocol):
    """Always the newest metadata."""

    @property
    def version(self) -> int:
        """Grows with every change of the metadata."""
        ...

    def named(self, name: str) -> TopicView | None: ...

    def identified(self, topic_id: bytes) -> TopicView | None: ...

    def names(self) -> Iterable[str]: ...

    def racks(self, name: str) -> list[list[str]]:
        """By partition, the rack of each replica that has one: a rack may come twice."""
        ...
