"""What a transaction coordinator wants done outside its own log."""

from __future__ import annotations

from typing import Any, NamedTuple

from headrace.base.outcome import Outcome
from headrace.transactions.transaction import TopicPartition

#: What a step of the transaction coordinator wants to happen.
TransactionOutcome = Outcome[Any, Any]


class WriteMarkers(NamedTuple):
    """End a producer's transaction in these partitions, then call `markers_written`.

    The end is stored already. So it has to be carried out, however long it takes and however often
    the node restarts; a marker that is written twice does no harm.
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    committed: bool
    #: The partitions check the epoch more strictly from version 2 on.
    transaction_version: int
    partitions: tuple[TopicPartition, ...]
