"""Appending to the schemas topic, and asking where it ends."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.base.errors import ErrorCode, KafkaError
from headrace.client.blocking import KafkaClient
from headrace.client.config import ClientConfig
from headrace.client.offsets import LATEST, list_offsets, require_offsets
from headrace.client.producing import ProducerConfig, RecordSender
from headrace.records.record import Record as LogRecord
from headrace.registry.core.records import Record
from headrace.registry.kafka.reading import now_ms

#: More than a request may hold: what belongs together is never split, and a broker says no.
_BATCH_BYTES = 64 * 1024 * 1024


class TopicWriter:
    """Blocking; for one thread at a time."""

    def __init__(self, config: ClientConfig, topic: str, timeout_ms: int) -> None:
        self._client = KafkaClient(config)
        self._topic = topic
        self._timeout_ms = timeout_ms
        self._sender: RecordSender | None = None
        #: What became of the last append, once that is known.
        self._outcomes: list[int | KafkaError] = []

    def append(self, records: Sequence[Record]) -> int:
        """Append records as one batch; returns the offset after the last of them."""
        sender = self._started()
        self._outcomes.clear()
        for record in records:
            sender.send(record.key, record.value, timestamp=now_ms())
        sender.flush()
        unknown = KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "There was no answer.")
        outcome = self._outcomes[0] if self._outcomes else unknown
        if isinstance(outcome, KafkaError):
            self._sender = None
            raise outcome
        return outcome + len(records)

    def close(self) -> None:
        self._client.close()

    def _started(self) -> RecordSender:
        if self._sender is None:
            config = ProducerConfig(
                batch_size=_BATCH_BYTES,
                request_timeout_ms=self._timeout_ms,
                max_block_ms=self._timeout_ms,
            )
            self._sender = RecordSender(
                self._client, self._topic, config, self._failed, self._acknowledged
            )
            self._sender.start()
        return self._sender

    def _failed(self, records: list[LogRecord], error: KafkaError) -> None:
        self._outcomes.append(error)

    def _acknowledged(self, _: object, records: list[LogRecord], base_offset: int) -> None:
        self._outcomes.append(base_offset)


class TopicEnd:
    """Blocking; for one thread at a time."""

    def __init__(self, config: ClientConfig, topic: str) -> None:
        self._client = KafkaClient(config)
        self._partition = (topic, 0)

    def offset(self) -> int:
        """The offset that the next record will have."""
        found = list_offsets(self._client, {self._partition: LATEST}, read_committed=True)
        return require_offsets(found)[self._partition]

    def close(self) -> None:
        self._client.close()
