"""The bytes of the records of `__transaction_state`: one per transactional id.

Key and value each begin with two bytes: the kind of the record in front of the key, the version of
the layout in front of the value. What newer brokers wrote in ways that we do not know stays in the
log and out of our state.
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Callable

from headrace.protocol import compiler
from headrace.protocol.errors import ProtocolError
from headrace.transactions.records import PartitionsSchema, TransactionLogKey, TransactionLogValue
from headrace.transactions.states import TransactionState
from headrace.transactions.transaction import TopicPartition, Transaction

logger = logging.getLogger(__name__)

_SHORT = struct.Struct(">h")


class TransactionRecordCodec:
    """From a transactional id and its `Transaction` to bytes and back."""

    def __init__(self, transaction_version: Callable[[], int]) -> None:
        """`transaction_version` is the feature's level now; it decides what may be written."""
        self._transaction_version = transaction_version

    def encode(
        self, transactional_id: str, transaction: Transaction | None
    ) -> tuple[bytes, bytes | None]:
        key = TransactionLogKey(transactional_id=transactional_id)
        key_bytes = _SHORT.pack(key.record_type) + compiler.encode(key, 0)
        if transaction is None:
            return key_bytes, None
        version = 1 if self._transaction_version() >= 1 else 0
        value = _to_value(transaction)
        return key_bytes, _SHORT.pack(version) + compiler.encode(value, version)

    def decode(self, key: bytes, value: bytes | None) -> tuple[str, Transaction | None] | None:
        if len(key) < 2:
            raise ProtocolError("a record of __transaction_state has no type")
        if _SHORT.unpack_from(key)[0] != TransactionLogKey.record_type:
            logger.warning("an unknown kind of record in __transaction_state is left out")
            return None
        decoded_key, _ = compiler.read(TransactionLogKey, 0, key, 2)
        transactional_id = decoded_key.transactional_id
        if value is None:
            return transactional_id, None
        if len(value) < 2:
            raise ProtocolError("a record of __transaction_state has a value without a version")
        (version,) = _SHORT.unpack_from(value)
        if version not in TransactionLogValue.versions:
            logger.warning("version %d of a transaction log value is left out", version)
            return None
        decoded_value, _ = compiler.read(TransactionLogValue, version, value, 2)
        return transactional_id, _from_value(transactional_id, decoded_value)


def _to_value(transaction: Transaction) -> TransactionLogValue:
    partitions: list[PartitionsSchema] | None = None
    if transaction.state is not TransactionState.EMPTY:
        by_topic: dict[str, list[int]] = {}
        for topic, partition in sorted(transaction.partitions):
            by_topic.setdefault(topic, []).append(partition)
        partitions = [
            PartitionsSchema(topic=topic, partition_ids=ids) for topic, ids in by_topic.items()
        ]
    return TransactionLogValue(
        producer_id=transaction.producer_id,
        previous_producer_id=transaction.previous_producer_id,
        next_producer_id=transaction.next_producer_id,
        producer_epoch=transaction.producer_epoch,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_status=int(transaction.state),
        transaction_partitions=partitions,
        transaction_last_update_timestamp_ms=transaction.last_update_ms,
        transaction_start_timestamp_ms=transaction.start_ms,
        client_transaction_version=transaction.client_version,
    )


def _from_value(transactional_id: str, value: TransactionLogValue) -> Transaction:
    try:
        state = TransactionState(value.transaction_status)
    except ValueError:
        raise ProtocolError(f"transaction status {value.transaction_status}") from None
    return Transaction(
        transactional_id=transactional_id,
        producer_id=value.producer_id,
        producer_epoch=value.producer_epoch,
        timeout_ms=value.transaction_timeout_ms,
        state=state,
        partitions=frozenset(
            TopicPartition(topic.topic, partition)
            for topic in value.transaction_partitions or ()
            for partition in topic.partition_ids
        ),
        previous_producer_id=value.previous_producer_id,
        next_producer_id=value.next_producer_id,
        start_ms=value.transaction_start_timestamp_ms,
        last_update_ms=value.transaction_last_update_timestamp_ms,
        client_version=value.client_transaction_version,
    )
