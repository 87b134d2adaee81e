"""What all client libraries can do, in words they share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

Headers = tuple[tuple[str, bytes | None], ...]


@dataclass(frozen=True)
class Row:
    """A record as a test writes and reads it."""

    value: bytes | None
    key: bytes | None = None
    headers: Headers = ()
    timestamp: int = 1_700_000_000_000
    offset: int = -1

    def at(self, offset: int) -> Row:
        return replace(self, offset=offset)


class SendFailedError(Exception):
    """A record was refused; the text is the name of Kafka's error."""


class Client(ABC):
    """A client library at one cluster."""

    name: ClassVar[str]

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap

    @abstractmethod
    def write(
        self,
        topic: str,
        rows: Sequence[Row],
        *,
        partition: int = 0,
        codec: str = "none",
        acks: int = -1,
        idempotent: bool = False,
        max_bytes: int = 1_000_000,
    ) -> list[int]:
        """Send the rows and wait for all of them; their offsets, -1 where acks=0."""

    @abstractmethod
    def read(self, topic: str, starts: Mapping[int, int], count: int) -> dict[int, list[Row]]:
        """`count` rows of partitions assigned by hand, each from an offset; by partition."""

    @abstractmethod
    def offsets(self, topic: str, partition: int = 0) -> tuple[int, int]:
        """Where the partition begins and ends."""

    @abstractmethod
    def offset_at(self, topic: str, timestamp: int, partition: int = 0) -> int | None:
        """The first offset at or after a time."""
