"""A small producer for our own tools: batches per partition, idempotent, one request at a time.

Applications use confluent-kafka; this one exists so that the command line starts at once.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from headrace.base.errors import ErrorCode, KafkaError
from headrace.client.blocking import KafkaClient
from headrace.client.connection import BlockingConnection
from headrace.client.errors import ConnectionFailedError, error_for_code
from headrace.client.leaders import LeaderAnswers, TopicPartition, ask_leaders
from headrace.client.metadata import NOT_READY, ask_topics
from headrace.client.partitioner import partition_for_key
from headrace.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from headrace.records.builder import build_batch
from headrace.records.record import Header, Record

#: The last version that names topics; later ones need their ids.
_BY_NAME_MAX = 12
_SEQUENCES = 1 << 31
#: What a record costs besides its bytes: varints, attributes, the batch's header.
_RECORD_OVERHEAD = 20


@dataclass(frozen=True, slots=True)
class ProducerConfig:
    """How records become requests; the names are those of Kafka's producer settings."""

    acks: int = -1
    codec: int = 0
    batch_size: int = 16_384
    request_timeout_ms: int = 30_000
    max_block_ms: int = 60_000


class RecordSender:
    """Collects records of one topic and sends them when `flush` says so or a batch is full."""

    def __init__(
        self,
        client: KafkaClient,
        topic: str,
        config: ProducerConfig,
        on_error: Callable[[list[Record], KafkaError], None],
        on_ack: Callable[[TopicPartition, list[Record], int], None] | None = None,
    ) -> None:
        """`on_ack` gets the records of a batch and the offset of its first, -1 without acks."""
        self._client = client
        self._topic = topic
        self._config = config
        self._on_error = on_error
        self._on_ack = on_ack
        self._pending: dict[int, list[Record]] = {}
        self._pending_bytes: dict[int, int] = {}
        self._sequences: dict[int, int] = {}
        self._producer: tuple[int, int] = (-1, -1)
        self._leaders: dict[TopicPartition, int] = {}
        self._sticky = 0

    def start(self, on_wait: Callable[[], None] | None = None) -> None:
        """Find the topic's partitions, let it be created if the cluster does that, get an id."""
        deadline = time.monotonic() + self._config.max_block_ms / 1000
        while not self._find_partitions():
            if time.monotonic() >= deadline:
                raise KafkaError(
                    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                    f"Topic {self._topic} not present in metadata"
                    f" after {self._config.max_block_ms} ms.",
                )
            if on_wait is not None:
                on_wait()
            time.sleep(self._client.config.retry_backoff_ms / 1000)
        self._pick_sticky()
        if self._config.acks == -1:
            self._init_producer_id()

    @property
    def has_pending(self) -> bool:
        return bool(self._pending)

    def send(
        self,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[Header] = (),
        *,
        timestamp: int,
    ) -> None:
        """Add one record; sends what is collected when its partition's batch is full."""
        partition = self._sticky if key is None else partition_for_key(key, len(self._leaders))
        size = _RECORD_OVERHEAD + len(key or b"") + len(value or b"")
        size += sum(_RECORD_OVERHEAD + len(name) + len(data or b"") for name, data in headers)
        held = self._pending_bytes.get(partition, 0)
        if held and held + size > self._config.batch_size:
            self.flush()
            if key is None:
                partition = self._sticky
        rows = self._pending.setdefault(partition, [])
        rows.append(Record(len(rows), timestamp, key, value, headers))
        self._pending_bytes[partition] = self._pending_bytes.get(partition, 0) + size

    def flush(self) -> None:
        """Send everything collected and wait until it is acknowledged or has failed."""
        if not self._pending:
            return
        pending, self._pending = self._pending, {}
        self._pending_bytes.clear()
        batches = {(self._topic, p): self._build(p, rows) for p, rows in pending.items()}
        outcomes = ask_leaders(self._client, batches, self._sending(batches), known=self._leaders)
        for (topic, partition), outcome in outcomes.items():
            if not isinstance(outcome, KafkaError):
                if self._on_ack is not None:
                    self._on_ack((topic, partition), pending[partition], outcome)
            else:
                self._on_error(pending[partition], outcome)
                if self._producer[0] >= 0:
                    # What was lost leaves a hole in the sequences: begin again with a new id.
                    self._init_producer_id()
        self._pick_sticky()

    def _build(self, partition: int, rows: list[Record]) -> bytearray:
        sequence = self._sequences.get(partition, 0) if self._producer[0] >= 0 else -1
        if sequence >= 0:
            self._sequences[partition] = (sequence + len(rows)) % _SEQUENCES
        return build_batch(
            rows,
            codec=self._config.codec,
            producer_id=self._producer[0],
            producer_epoch=self._producer[1],
            base_sequence=sequence,
        )

    def _sending(
        self, batches: dict[TopicPartition, bytearray]
    ) -> Callable[[BlockingConnection, list[TopicPartition]], LeaderAnswers[int]]:
        acks = self._config.acks

        def send(
            connection: BlockingConnection, partitions: list[TopicPartition]
        ) -> LeaderAnswers[int]:
            data = [PartitionProduceData(index=p, records=batches[t, p]) for t, p in partitions]
            request = ProduceRequest(
                acks=acks,
                timeout_ms=self._config.request_timeout_ms,
                topic_data=[TopicProduceData(name=self._topic, partition_data=data)],
            )
            version = connection.versions.pick(ProduceRequest, high=_BY_NAME_MAX)
            connection.post(request, version=version, expect_response=acks != 0)
            if acks == 0:
                return dict.fromkeys(partitions, (0, None, -1))
            answer = connection.take(ProduceResponse)
            return {
                (topic.name, row.index): (
                    _settled(row.error_code),
                    row.error_message,
                    row.base_offset,
                )
                for topic in answer.responses
                for row in topic.partition_responses
            }

        return send

    def _find_partitions(self) -> bool:
        answer = self._client.retry(
            lambda: ask_topics(self._client.any_node(), [self._topic], create=True)
        )
        for topic in answer.topics:
            if topic.error_code and topic.error_code not in NOT_READY:
                raise error_for_code(topic.error_code, f"Invalid topics: [{self._topic}]")
            self._leaders = {
                (self._topic, p.partition_index): p.leader_id for p in topic.partitions
            }
        return bool(self._leaders) and any(leader >= 0 for leader in self._leaders.values())

    def _pick_sticky(self) -> None:
        """Records without a key stay with one partition per batch (KIP-480)."""
        ready = [p for (_, p), leader in self._leaders.items() if leader >= 0]
        self._sticky = random.choice(ready)

    def _init_producer_id(self) -> None:
        """An id lets the broker drop what a retry sent twice; without one, retries may double."""
        from headrace.protocol.messages.init_producer_id import (
            InitProducerIdRequest,
            InitProducerIdResponse,
        )

        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
        self._sequences.clear()
        try:
            answer = self._client.admin(request, InitProducerIdResponse)
        except ConnectionFailedError:
            raise
        except KafkaError:
            self._producer = (-1, -1)
            return
        self._producer = (answer.producer_id, answer.producer_epoch)


def _settled(code: int) -> int:
    """A batch that the log has already is one that arrived."""
    return 0 if code == ErrorCode.DUPLICATE_SEQUENCE_NUMBER else code
