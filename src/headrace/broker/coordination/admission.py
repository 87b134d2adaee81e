"""No partition takes a record of a transaction that does not know the partition (KIP-890).

Otherwise nobody would ever end the transaction there, and everything behind the record would stay
invisible. Before the first record the partition asks the coordinator: to be added, for producers
of version 2; whether it has been added, for older ones, which add partitions themselves.

The answer is good for as long as nothing else runs on this node, so a write has to follow at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from headrace.base.clock import Clock
from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker.coordination.transactions import Transactions
from headrace.broker.parked import Scheduler
from headrace.replication.partition import Partition
from headrace.transactions.requests import AddPartitions, PartitionErrors
from headrace.transactions.transaction import (
    EPOCH_BUMP_VERSION,
    ProducerIdentity,
    TopicPartition,
)


class Protocol(Enum):
    """What the producer's request can do, by its version."""

    #: Adds partitions itself, and takes a missing one for the end of its session.
    FIRST = "first"
    #: Adds partitions itself, and knows TRANSACTION_ABORTABLE.
    ABORTABLE = "abortable"
    #: Leaves adding to the partitions.
    IMPLICIT = "implicit"


@dataclass(frozen=True, slots=True)
class AdmissionConfig:
    """Defaults are Kafka's."""

    #: `transaction.partition.verification.enable`
    verifies: bool = True
    #: How often, and for how long, a producer's last transaction is waited for.
    retry_ms: int = 20
    retry_ms_max: int = 100


class Admission:
    """Asks the transaction coordinators on behalf of partitions."""

    def __init__(
        self,
        transactions: Transactions,
        scheduler: Scheduler,
        clock: Clock,
        config: Callable[[], AdmissionConfig],
    ) -> None:
        self._transactions = transactions
        self._scheduler = scheduler
        self._clock = clock
        self._config = config

    def is_needed(
        self, partition: Partition, producer: ProducerIdentity, protocol: Protocol
    ) -> bool:
        """Not for a transaction that has records there already; raises for a zombie."""
        entry = partition.log.producers.get(producer.producer_id)
        if entry is not None:
            if producer.producer_epoch < entry.epoch:
                raise KafkaError(
                    ErrorCode.INVALID_PRODUCER_EPOCH,
                    f"Epoch of producer {producer.producer_id} is {producer.producer_epoch},"
                    f" which is smaller than the last seen epoch {entry.epoch}",
                )
            if entry.is_in_transaction(producer.producer_epoch):
                return False
        return protocol is Protocol.IMPLICIT or self._config().verifies

    def ask(
        self,
        transactional_id: str,
        producer: ProducerIdentity,
        partitions: frozenset[TopicPartition],
        protocol: Protocol,
        done: Callable[[PartitionErrors], None],
    ) -> None:
        """`done` gets the partitions that may not be written to, with the reasons."""
        is_implicit = protocol is Protocol.IMPLICIT
        request = AddPartitions(
            transactional_id,
            producer,
            partitions,
            client_version=EPOCH_BUMP_VERSION if is_implicit else 0,
            verify_only=not is_implicit,
        )
        config = self._config()
        deadline_ms = self._clock.mono_ms() + config.retry_ms_max

        def answered(reply: Any) -> None:
            if isinstance(reply, KafkaError):
                is_last_ending = reply.code is ErrorCode.CONCURRENT_TRANSACTIONS
                if is_implicit and is_last_ending and self._clock.mono_ms() < deadline_ms:
                    self._scheduler.call_later(
                        config.retry_ms, lambda: self._transactions.ask(request, answered)
                    )
                    return
                reply = dict.fromkeys(partitions, reply.code)
            done({at: _for_writer(code, protocol) for at, code in reply.items() if code})

        self._transactions.ask(request, answered)


def _for_writer(code: ErrorCode, protocol: Protocol) -> ErrorCode:
    if code is ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if code is ErrorCode.TRANSACTION_ABORTABLE and protocol is Protocol.FIRST:
        return ErrorCode.INVALID_TXN_STATE
    return code
