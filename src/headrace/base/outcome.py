"""What one step of a coordinator wants to happen: plain data, carried out by whoever runs it."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

from headrace.base.errors import KafkaError

K = TypeVar("K")
R = TypeVar("R")


class SetTimer(NamedTuple):
    """Ask for `timer_expired(name)` at a time; a timer of the same name is replaced."""

    name: str
    at_ms: float


class CancelTimer(NamedTuple):
    """No longer interested; a timer that is not set is fine."""

    name: str


class EndTransaction(NamedTuple):
    """A marker among the records: the transaction of `Outcome.producer` is over."""

    committed: bool
    coordinator_epoch: int
    #: Partitions check the producer's epoch more strictly from version 2 on (KIP-890).
    transaction_version: int = 0


@dataclass(slots=True)
class Outcome(Generic[K, R]):
    """Records first, then everything else: a reply never leaves before its records are safe."""

    #: (key, value or None for a tombstone), appended as one batch unless `is_atomic` is off.
    records: list[tuple[K, K | None]] = field(default_factory=list)
    #: (token of the waiting request, its response).
    replies: list[tuple[int, R]] = field(default_factory=list)
    #: (producer id, epoch) if the records belong to that producer's open transaction.
    producer: tuple[int, int] | None = None
    #: Written instead of records.
    ends: EndTransaction | None = None
    timers: list[SetTimer | CancelTimer] = field(default_factory=list)
    #: What else is to be done, once the records are safe, by whoever knows these things.
    effects: list[Any] = field(default_factory=list)
    #: Whether the records count together or not at all; many tombstones may go in several batches.
    #: If only the first of those can be written, they are applied; everything else is as if none
    #: could, and `if_failed` comes after they are applied.
    is_atomic: bool = True
    #: What to do instead, at a time, if the records cannot be written; without it, everybody in
    #: `replies` gets the error.
    if_failed: Callable[[KafkaError, int], Outcome[Any, Any]] | None = None
    #: Instead of everything else: work to be done first, in steps between which others may have
    #: their turn, but not this coordinator. Then the same event is to happen again.
    preparation: Generator[None, None, None] | None = None
