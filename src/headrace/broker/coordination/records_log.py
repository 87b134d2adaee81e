"""Writes what a coordinator wants stored into its partition."""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterator, Sequence
from typing import Any, Protocol

from headrace.base.clock import Clock
from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.outcome import Outcome
from headrace.broker.coordination.pairs import Pair, encode_pairs, encoded_batch, pairs_batch
from headrace.log.append import AppendOrigin
from headrace.records.batch import BatchHeader
from headrace.records.control import EndTxnMarker, end_txn_batch
from headrace.replication.partition import Partition

logger = logging.getLogger(__name__)

#: How clients are told that the log of a coordinator could not be written (as Kafka maps them).
_WRITE_ERRORS = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.INVALID_FETCH_SIZE: ErrorCode.UNKNOWN_SERVER_ERROR,
}
#: What a record needs besides its key and value, at most.
_RECORD_OVERHEAD = 32
#: Records that are encoded in one turn of the loop, where there are many: a few milliseconds.
_ENCODED_AT_ONCE = 500


class RecordCodec(Protocol):
    """How records of the internal topic look in bytes."""

    def encode(self, key: Any, value: Any) -> tuple[bytes, bytes | None]: ...

    def decode(self, key: bytes, value: bytes | None) -> tuple[Any, Any] | None:
        """Key and value, or None for a kind of record that a newer version wrote."""
        ...


class RecordsLog:
    """Appends to one partition; errors are those that clients of a coordinator understand."""

    def __init__(
        self, partition: Partition, codec: RecordCodec, clock: Clock, compression: int
    ) -> None:
        self._partition = partition
        self._codec = codec
        self._clock = clock
        self._compression = compression

    def append(self, outcome: Outcome[Any, Any]) -> int:
        """Append the records of an outcome, or its marker; the offset of the last one."""
        now_ms = self._clock.wall_ms()
        producer_id, producer_epoch = outcome.producer or (-1, -1)
        if outcome.ends is not None:
            marker = end_txn_batch(
                EndTxnMarker(outcome.ends.committed, outcome.ends.coordinator_epoch),
                producer_id=producer_id,
                producer_epoch=producer_epoch,
                timestamp=now_ms,
            )
            return self._write(marker, now_ms, outcome.ends.transaction_version)
        pairs = self._encoded(outcome.records)
        last_offset = -1
        for part in (pairs,) if outcome.is_atomic else self._parts(pairs):
            batch = pairs_batch(
                part,
                now_ms,
                codec=self._compression,
                producer_id=producer_id,
                producer_epoch=producer_epoch,
                transactional=outcome.producer is not None,
            )
            last_offset = self._write(batch, now_ms)
        return last_offset

    def append_in_steps(self, outcome: Outcome[Any, Any]) -> Generator[None, None, int]:
        """Like `append`, for more records than can be encoded in one turn."""
        if not outcome.is_atomic:
            last_offset = -1
            for start in range(0, len(outcome.records), _ENCODED_AT_ONCE):
                some = outcome.records[start : start + _ENCODED_AT_ONCE]
                last_offset = self.append(
                    Outcome(records=some, producer=outcome.producer, is_atomic=False)
                )
                yield
            return last_offset
        parts = []
        for start in range(0, len(outcome.records), _ENCODED_AT_ONCE):
            pairs = self._encoded(outcome.records[start : start + _ENCODED_AT_ONCE])
            parts.append(encode_pairs(pairs, start))
            yield
        now_ms = self._clock.wall_ms()
        producer_id, producer_epoch = outcome.producer or (-1, -1)
        batch = encoded_batch(
            b"".join(parts),
            len(outcome.records),
            now_ms,
            codec=self._compression,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            transactional=outcome.producer is not None,
        )
        return self._write(batch, now_ms)

    def _encoded(self, records: Sequence[tuple[Any, Any]]) -> list[Pair]:
        encode = self._codec.encode
        try:
            return [encode(key, value) for key, value in records]
        except Exception as error:  # whatever it is, it must not stop the whole shard
            logger.exception("records for %s cannot be encoded", self._partition.topic)
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR) from error

    def _write(self, batch: bytearray, now_ms: int, transaction_version: int = 0) -> int:
        partition = self._partition
        try:
            if len(batch) > partition.log.config.max_message_bytes:
                raise KafkaError(ErrorCode.RECORD_LIST_TOO_LARGE)
            partition.require_leader(-1)
            partition.require_enough_replicas(partition.log.config.min_insync_replicas)
            view = memoryview(batch)
            header = BatchHeader(batch, 0)
            return partition.append(
                view, header, now_ms, AppendOrigin.COORDINATOR, transaction_version
            ).last_offset
        except KafkaError as error:
            code = _WRITE_ERRORS.get(error.code, error.code)
            raise KafkaError(code, error.message) from error

    def _parts(self, pairs: list[Pair]) -> Iterator[list[Pair]]:
        """As many batches as the size of a batch demands."""
        room = self._partition.log.config.max_message_bytes // 2
        part: list[Pair] = []
        size = 0
        for key, value in pairs:
            part.append((key, value))
            size += _RECORD_OVERHEAD + len(key) + len(value or b"")
            if size > room:
                yield part
                part, size = [], 0
        if part:
            yield part
