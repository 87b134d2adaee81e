"""Who may write what within one transaction: the driver's book over all tasks of a batch.

All tasks share one producer, and a broker wants the sequences of a producer without gap in each
partition. So a task writes to a partition only while it holds its lease, which tells the next
sequence and is given on when the records are acknowledged. And a task's rows are written once:
the first attempt that claims them does it. A second one (a retry, a speculative copy) waits; if the
first finishes, the second has nothing to do; if the first is lost, nobody knows what it wrote, and
the whole transaction has failed.

Plain state: calls come in, messages to connections come out, and nothing is sent from here.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from headrace.client.leaders import TopicPartition
from headrace.records.producer_stamp import SEQUENCES

Message = dict[str, Any]
#: For each message, the connection it goes to.
Messages = list[tuple[int, Message]]


@dataclass(slots=True)
class _Claim:
    owner: int
    records: int | None = None
    #: Later attempts, which want to know how it ends.
    waiting: list[int] = field(default_factory=list)


@dataclass(slots=True)
class _Lease:
    holder: int | None = None
    next_sequence: int = 0
    waiting: deque[int] = field(default_factory=deque)


class WriterLedger:
    """Claims and leases of one transaction."""

    def __init__(self) -> None:
        self._claims: dict[int, _Claim] = {}
        self._leases: dict[TopicPartition, _Lease] = {}
        self._connections: set[int] = set()
        #: Why the transaction cannot be committed any more.
        self.failure: str | None = None
        #: Whether writing the batch again may help.
        self.worth_a_retry = False

    def is_complete(self) -> bool:
        """Whether every task that began has written all its rows."""
        return self.failure is None and all(c.records is not None for c in self._claims.values())

    @property
    def records(self) -> dict[int, int]:
        """How many records each finished task has written, by the number of its rows' partition."""
        return {n: c.records for n, c in self._claims.items() if c.records is not None}

    @property
    def partitions(self) -> set[TopicPartition]:
        return set(self._leases)

    def claim(self, connection: int, task: int) -> Messages:
        """An attempt wants to write the rows of a task."""
        self._connections.add(connection)
        if self.failure is not None:
            return [(connection, self._failed())]
        claim = self._claims.get(task)
        if claim is None:
            self._claims[task] = _Claim(connection)
            return [(connection, {"go": True})]
        if claim.records is not None:
            return [(connection, {"done": claim.records})]
        claim.waiting.append(connection)
        return []

    def acquire(self, connection: int, partitions: list[TopicPartition]) -> Messages:
        """A task has batches for these partitions; each lease comes when it is free."""
        if self.failure is not None:
            return [(connection, self._failed())]
        messages: Messages = []
        for partition in partitions:
            lease = self._leases.setdefault(partition, _Lease())
            lease.waiting.append(connection)
            messages += self._grant(partition, lease)
        return messages

    def release(self, connection: int, partition: TopicPartition, next_sequence: int) -> Messages:
        """Everything that was written under a lease is acknowledged."""
        lease = self._leases.get(partition)
        if lease is None or lease.holder != connection or not 0 <= next_sequence < SEQUENCES:
            return self.fail("A task gave back what it did not have.", worth_a_retry=False)
        lease.holder = None
        lease.next_sequence = next_sequence
        return [] if self.failure is not None else self._grant(partition, lease)

    def done(self, connection: int, task: int, records: int) -> Messages:
        """An attempt has written all rows of its task, and all are acknowledged."""
        if self.failure is not None:
            return [(connection, self._failed())]
        claim = self._claims.get(task)
        if claim is None or claim.owner != connection:
            return self.fail("A task finished what it had not claimed.", worth_a_retry=False)
        claim.records = records
        return [(connection, {"ok": True}), *((w, {"done": records}) for w in claim.waiting)]

    def closed(self, connection: int) -> Messages:
        """An attempt is gone; if its rows are not written, nobody can say which of them are."""
        self._connections.discard(connection)
        for task, claim in self._claims.items():
            if connection in claim.waiting:
                claim.waiting.remove(connection)
            if claim.owner == connection and claim.records is None:
                return self.fail(f"Task {task} was lost while it wrote.", worth_a_retry=True)
        return []

    def fail(self, why: str, *, worth_a_retry: bool) -> Messages:
        """The transaction cannot be committed: tell everybody. The first reason stands."""
        if self.failure is None:
            self.failure = why
            self.worth_a_retry = worth_a_retry
        return [(connection, self._failed()) for connection in sorted(self._connections)]

    def _grant(self, partition: TopicPartition, lease: _Lease) -> Messages:
        if lease.holder is not None or not lease.waiting:
            return []
        lease.holder = lease.waiting.popleft()
        return [(lease.holder, {"lease": [*partition, lease.next_sequence]})]

    def _failed(self) -> Message:
        return {"failed": self.failure}
