"""One transactional id: who may use it, and what became of its latest transaction.

Values are immutable: each step gives the next value, which is stored, and counts once it is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from headrace.base.errors import ErrorCode, KafkaError
from headrace.transactions.states import TransactionState, check_transition

NO_PRODUCER_ID = -1
NO_EPOCH = -1
#: Beyond it, the coordinator could not fence a producer any more; so it is given to nobody.
EPOCH_MAX = 2**15 - 1
#: From this level of transaction.version on, each transaction has an epoch of its own (KIP-890).
EPOCH_BUMP_VERSION = 2


class TopicPartition(NamedTuple):
    topic: str
    partition: int


class ProducerIdentity(NamedTuple):
    """What a producer signs its requests with."""

    producer_id: int
    producer_epoch: int


def bumps_epoch(transaction_version: int) -> bool:
    return transaction_version >= EPOCH_BUMP_VERSION


def is_exhausted(epoch: int) -> bool:
    """No further epoch can be given to a producer with this one."""
    return epoch >= EPOCH_MAX - 1


@dataclass(frozen=True, slots=True)
class Transaction:
    """What the transaction log keeps of a transactional id."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    state: TransactionState = TransactionState.EMPTY
    partitions: frozenset[TopicPartition] = frozenset()
    #: The producer id before the latest step.
    previous_producer_id: int = NO_PRODUCER_ID
    #: Follows the producer id once this transaction is complete: its epochs are used up.
    next_producer_id: int = NO_PRODUCER_ID
    #: The epoch before a producer asked for a new one. The log has no room for it, so after a
    #: change of coordinator a retry of that request is refused.
    last_producer_epoch: int = NO_EPOCH
    start_ms: int = -1
    last_update_ms: int = -1
    #: The transaction.version that the producer uses.
    client_version: int = 0

    @property
    def identity(self) -> ProducerIdentity:
        return ProducerIdentity(self.producer_id, self.producer_epoch)

    def initialized(self, timeout_ms: int, expected_epoch: int | None, now_ms: int) -> Transaction:
        """Ready for transactions of a new producer, or of one that goes on after an error."""
        epoch, last_epoch = self.producer_epoch + 1, NO_EPOCH
        if expected_epoch is not None:
            if expected_epoch == self.producer_epoch or self.producer_epoch == NO_EPOCH:
                last_epoch = self.producer_epoch
            elif expected_epoch == self.last_producer_epoch:
                # The same request again, whose response got lost.
                epoch, last_epoch = self.producer_epoch, self.last_producer_epoch
            else:
                raise KafkaError(ErrorCode.PRODUCER_FENCED)
        return self._at_rest(
            producer_epoch=epoch,
            last_producer_epoch=last_epoch,
            timeout_ms=timeout_ms,
            last_update_ms=now_ms,
        )

    def rotated(
        self, producer_id: int, timeout_ms: int, keeps_last_epoch: bool, now_ms: int
    ) -> Transaction:
        """The same, with a new producer id because the old one has no epochs left."""
        return self._at_rest(
            producer_id=producer_id,
            producer_epoch=0,
            last_producer_epoch=self.producer_epoch if keeps_last_epoch else NO_EPOCH,
            timeout_ms=timeout_ms,
            last_update_ms=now_ms,
        )

    def with_partitions(
        self, added: frozenset[TopicPartition], client_version: int, now_ms: int
    ) -> Transaction:
        """Open, and about to touch further partitions."""
        is_open = self.state is TransactionState.ONGOING
        return self._to(
            TransactionState.ONGOING,
            partitions=self.partitions | added,
            start_ms=self.start_ms if is_open else now_ms,
            last_update_ms=now_ms,
            client_version=client_version,
        )

    def prepared(
        self, committed: bool, client_version: int, next_producer_id: int, now_ms: int
    ) -> Transaction:
        """The end is decided; with version 2 it takes an epoch that the markers carry."""
        epoch, last_epoch = self.producer_epoch, self.last_producer_epoch
        if bumps_epoch(client_version):
            last_epoch = epoch
            # Somebody who is at the last epoch can be aborted at least.
            epoch = min(epoch + 1, EPOCH_MAX)
        is_open = self.state is TransactionState.ONGOING
        return self._to(
            TransactionState.PREPARE_COMMIT if committed else TransactionState.PREPARE_ABORT,
            producer_epoch=epoch,
            last_producer_epoch=last_epoch,
            next_producer_id=next_producer_id,
            # Nothing may have been added yet; a start is wanted all the same.
            start_ms=self.start_ms if is_open else now_ms,
            last_update_ms=now_ms,
            client_version=client_version,
        )

    def fenced(self) -> Transaction:
        """A transaction of the old protocol whose producer is shut out by the next epoch."""
        return replace(
            self,
            producer_epoch=min(self.producer_epoch + 1, EPOCH_MAX),
            last_producer_epoch=NO_EPOCH,
        )

    def completed(self, now_ms: int) -> Transaction:
        """All markers are written."""
        changes: dict[str, Any] = {}
        if bumps_epoch(self.client_version) and self.next_producer_id != NO_PRODUCER_ID:
            changes = {"producer_id": self.next_producer_id, "producer_epoch": 0}
        committed = self.state is TransactionState.PREPARE_COMMIT
        return self._to(
            TransactionState.COMPLETE_COMMIT if committed else TransactionState.COMPLETE_ABORT,
            next_producer_id=NO_PRODUCER_ID,
            partitions=frozenset(),
            last_update_ms=now_ms,
            **changes,
        )

    def _at_rest(self, **changes: Any) -> Transaction:
        return self._to(TransactionState.EMPTY, partitions=frozenset(), start_ms=-1, **changes)

    def _to(self, state: TransactionState, **changes: Any) -> Transaction:
        check_transition(self.transactional_id, self.state, state)
        return replace(self, state=state, previous_producer_id=self.producer_id, **changes)
