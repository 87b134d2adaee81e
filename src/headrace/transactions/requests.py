"""What is asked of a transaction coordinator, whichever API and version it came by."""

from __future__ import annotations

from typing import NamedTuple

from headrace.base.errors import ErrorCode
from headrace.transactions.transaction import ProducerIdentity, TopicPartition


class InitProducer(NamedTuple):
    """A producer begins, or begins anew after an error; answered with a `ProducerIdentity`."""

    transactional_id: str
    timeout_ms: int
    #: Who the producer was before, if it knows.
    expected: ProducerIdentity | None = None


class AddPartitions(NamedTuple):
    """A producer is about to write to partitions; answered with `PartitionErrors`."""

    transactional_id: str
    producer: ProducerIdentity
    partitions: frozenset[TopicPartition]
    #: The transaction.version that the producer uses.
    client_version: int
    #: Do not add: say whether they have been added.
    verify_only: bool = False


class EndTransaction(NamedTuple):
    """Commit or abort; answered with the `ProducerIdentity` for the next transaction."""

    transactional_id: str
    producer: ProducerIdentity
    committed: bool
    client_version: int


#: The answer to `AddPartitions`, for each of them.
PartitionErrors = dict[TopicPartition, ErrorCode]
