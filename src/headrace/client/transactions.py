"""A transactional producer's side of the coordinators: begin, add, commit offsets, end.

It sends no records itself: those who do share its producer id and epoch. Each transaction begins
with an epoch of its own (InitProducerId), so that whatever is still on its way from the one before
is refused, and sequences start at 0. The versions used are those in which partitions and offsets
are added by requests of their own, which every broker since 2.5 serves.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, TypeVar

from headrace.base.errors import ErrorCode, KafkaError
from headrace.client.blocking import KafkaClient
from headrace.client.connection import BlockingConnection
from headrace.client.errors import PASSING, ConnectionFailedError
from headrace.client.groups import GROUP, TRANSACTION, find_coordinators
from headrace.client.groups_offsets import CommittedOffset
from headrace.client.leaders import TopicPartition
from headrace.client.transaction_requests import (
    add_offsets,
    add_partitions,
    commit_offsets,
    end,
    init_producer,
)

T = TypeVar("T")

#: The last transaction of this id is about to end: that is a matter of milliseconds.
_SOON_MS = 5

#: The id is somebody else's by now; a coordinator that forgot us says so in other words.
_LOST = (
    ErrorCode.PRODUCER_FENCED,
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.INVALID_PRODUCER_ID_MAPPING,
)


class FencedError(KafkaError):
    """Another producer has taken over the transactional id, or the transaction took too long."""


class Producer(NamedTuple):
    """Whose records they are."""

    producer_id: int
    epoch: int


class TransactionClient:
    """One transactional id, one transaction at a time."""

    def __init__(
        self,
        client: KafkaClient,
        transactional_id: str,
        *,
        transaction_timeout_ms: int = 60_000,
        patience_ms: int = 120_000,
    ) -> None:
        """Requests are repeated for `patience_ms` while brokers are away or busy."""
        self.transactional_id = transactional_id
        self.producer: Producer | None = None
        self._client = client
        self._timeout_ms = transaction_timeout_ms
        self._patience_ms = patience_ms
        self._coordinators: dict[tuple[str, int], int] = {}
        self._partitions: set[TopicPartition] = set()
        self._groups: set[str] = set()

    def begin(self) -> Producer:
        """A new epoch. The first time it fences whoever had the id, and aborts what they left."""
        expected = self.producer
        self._partitions.clear()
        self._groups.clear()
        self.producer = self._ask(
            lambda node: Producer(
                *init_producer(node, self.transactional_id, self._timeout_ms, expected)
            )
        )
        return self.producer

    def add_partitions(self, partitions: Iterable[TopicPartition]) -> None:
        """Make partitions part of the transaction, before anything is written to them."""
        new = set(partitions) - self._partitions
        if new:
            self._ask(
                lambda node: add_partitions(node, self.transactional_id, self._current(), new)
            )
            self._partitions |= new

    def commit_offsets(self, group: str, offsets: Mapping[TopicPartition, CommittedOffset]) -> None:
        """Let a group's offsets become visible together with the records."""
        if not offsets:
            return
        producer = self._current()
        if group not in self._groups:
            # Looking for the group's coordinator makes the topic of offsets, if there is none yet.
            self._ask(lambda _node: None, key=group, key_type=GROUP)
            self._ask(lambda node: add_offsets(node, self.transactional_id, producer, group))
            self._groups.add(group)
        self._ask(
            lambda node: commit_offsets(node, self.transactional_id, producer, group, offsets),
            key=group,
            key_type=GROUP,
        )

    def end(self, *, commit: bool) -> None:
        """Commit or abort; a transaction that nothing was added to needs neither."""
        if not self._partitions and not self._groups:
            return
        self._ask(lambda node: end(node, self.transactional_id, self._current(), commit))
        self._partitions.clear()
        self._groups.clear()

    def _current(self) -> Producer:
        if self.producer is None:
            raise KafkaError(ErrorCode.INVALID_TXN_STATE, "No transaction has begun.")
        return self.producer

    # ---------------------------------------------------------------- asking until it works

    def _ask(
        self,
        ask: Callable[[BlockingConnection], T],
        *,
        key: str | None = None,
        key_type: int = TRANSACTION,
    ) -> T:
        deadline = time.monotonic() + self._patience_ms / 1000
        backoff_ms = self._client.config.retry_backoff_ms
        soon_ms = _SOON_MS
        whom = (key or self.transactional_id, key_type)
        while True:
            try:
                return ask(self._coordinator(whom))
            except KafkaError as error:
                if error.code in _LOST:
                    raise self._fenced(error) from error
                if error.code not in PASSING or time.monotonic() >= deadline:
                    raise
                if isinstance(error, ConnectionFailedError):
                    self._client.close()
                if error.code == ErrorCode.CONCURRENT_TRANSACTIONS:
                    time.sleep(soon_ms / 1000)
                    soon_ms = min(soon_ms * 2, backoff_ms)
                    continue
                self._coordinators.pop(whom, None)
            time.sleep(backoff_ms / 1000)
            backoff_ms = min(backoff_ms * 2, self._client.config.retry_backoff_max_ms)

    def _coordinator(self, whom: tuple[str, int]) -> BlockingConnection:
        node_id = self._coordinators.get(whom)
        if node_id is None:
            key, key_type = whom
            node_id = find_coordinators(self._client, [key], key_type)[key]
            self._coordinators[whom] = node_id
        return self._client.node(node_id)

    def _fenced(self, error: KafkaError) -> FencedError:
        return FencedError(
            error.code,
            f"Another run has taken over the transactional id {self.transactional_id}, or a"
            f" transaction took longer than {self._timeout_ms} ms ({error.code.name}).",
        )
