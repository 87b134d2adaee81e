"""Writes what a coordinator wants stored into its partition."""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterator, Sequence
from typing import Any, Protocol

from headrace.base.clock import Clock
from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.outcome import EndTransaction, Outcome
from headrace.broker.coordination.long_work import to_the_end
from headrace.broker.coordination.pairs import Pair, encode_pairs, encoded_batch
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
#: Id and epoch.
Producer = tuple[int, int]
_NO_PRODUCER: Producer = (-1, -1)
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


class PartlyWritten(KafkaError):
    """Why the last records of an outcome that is not atomic are not in the log as the first are."""

    def __init__(self, error: KafkaError, count: int, last_offset: int) -> None:
        super().__init__(error.code, error.message)
        self.count = count
        self.last_offset = last_offset

    def written(self, outcome: Outcome[Any, Any]) -> Outcome[Any, Any]:
        """The part that is."""
        return Outcome(records=outcome.records[: self.count], producer=outcome.producer)


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
        if outcome.ends is not None:
            return self._append_marker(outcome.producer, outcome.ends)
        if not outcome.is_atomic:
            return to_the_end(self._append_parts(outcome))
        payload = encode_pairs(self._encoded(outcome.records))
        return self._append_encoded(payload, len(outcome.records), outcome.producer)

    def append_in_steps(self, outcome: Outcome[Any, Any]) -> Generator[None, None, int]:
        """Like `append`, for more records than can be encoded in one turn."""
        if not outcome.is_atomic:
            return (yield from self._append_parts(outcome))
        parts = []
        for start in range(0, len(outcome.records), _ENCODED_AT_ONCE):
            pairs = self._encoded(outcome.records[start : start + _ENCODED_AT_ONCE])
            parts.append(encode_pairs(pairs, start))
            yield
        return self._append_encoded(b"".join(parts), len(outcome.records), outcome.producer)

    def _append_parts(self, outcome: Outcome[Any, Any]) -> Generator[None, None, int]:
        """As many batches as the size of a batch demands, and a step for each."""
        count, last_offset = 0, -1
        try:
            for part in self._parts(outcome.records):
                payload = encode_pairs(part)
                last_offset = self._append_encoded(payload, len(part), outcome.producer)
                count += len(part)
                yield
        except KafkaError as error:
            if not count:
                raise
            raise PartlyWritten(error, count, last_offset) from error
        return last_offset

    def _append_encoded(self, payload: bytes, count: int, producer: Producer | None) -> int:
        now_ms = self._clock.wall_ms()
        producer_id, producer_epoch = producer or _NO_PRODUCER
        batch = encoded_batch(
            payload,
            count,
            now_ms,
            codec=self._compression,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            transactional=producer is not None,
        )
        return self._write(batch, now_ms)

    def _append_marker(self, producer: Producer | None, ends: EndTransaction) -> int:
        now_ms = self._clock.wall_ms()
        producer_id, producer_epoch = producer or _NO_PRODUCER
        marker = end_txn_batch(
            EndTxnMarker(ends.committed, ends.coordinator_epoch),
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            timestamp=now_ms,
        )
        return self._write(marker, now_ms, ends.transaction_version)

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

    def _parts(self, records: Sequence[tuple[Any, Any]]) -> Iterator[list[Pair]]:
        """What fits into a batch, and can be encoded in one turn."""
        room = self._partition.log.config.max_message_bytes // 2
        for start in range(0, len(records), _ENCODED_AT_ONCE):
            part: list[Pair] = []
            size = 0
            for key, value in self._encoded(records[start : start + _ENCODED_AT_ONCE]):
                part.append((key, value))
                size += _RECORD_OVERHEAD + len(key) + len(value or b"")
                if size > room:
                    yield part
                    part, size = [], 0
            if part:
                yield part
