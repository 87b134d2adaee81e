"""The outlet of the plain sink: a producer id for each worker, and batches on their way at once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace.base.errors import ErrorCode, KafkaError
from headrace.client.batch_request import Batch
from headrace.client.batch_sending import BatchSender
from headrace.client.blocking import KafkaClient
from headrace.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from headrace.records.producer_stamp import next_sequence, stamp_producer
from headrace.spark.sink_connection import Connected, connected
from headrace.spark.sink_errors import in_one_sentence
from headrace.spark.sink_options import SinkOptions
from headrace.spark.sink_writing import Closed, RowWriter

#: What a cluster answers that gives no producer ids to this user: then without.
_NOT_ALLOWED = (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, ErrorCode.UNSUPPORTED_VERSION)


class PlainOutlet:
    """Stamps batches with the worker's own producer and sends them."""

    def __init__(self, connected: Connected, options: SinkOptions) -> None:
        self._sender = BatchSender(connected.client, options.send)
        self._sequences = connected.sequences
        if connected.producer is None:
            connected.producer = _new_producer(connected.client) if options.idempotent else (-1, -1)
        self._producer = connected.producer

    def send(self, batches: Closed) -> None:
        ready = []
        producer_id, epoch = self._producer
        for partition, data, count in batches:
            sequence = self._sequences.get(partition, 0) if producer_id >= 0 else -1
            self._sequences[partition] = next_sequence(sequence, count)
            stamp_producer(data, producer_id, epoch, sequence)
            ready.append(Batch(partition, data, count))
        self._sender.send(ready)

    def flush(self) -> None:
        self._sender.flush()


def write_plain(options: SinkOptions, columns: list[str], batches: Iterable[Any]) -> int:
    """Write all rows of a task; returns their number."""
    try:
        with connected(options) as found:
            writer = RowWriter(found.topics, options, columns, PlainOutlet(found, options))
            writer.write(batches)
            return writer.rows_written
    except KafkaError as error:
        raise in_one_sentence(error) from error


def _new_producer(client: KafkaClient) -> tuple[int, int]:
    request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
    try:
        answer = client.admin(request, InitProducerIdResponse)
    except KafkaError as error:
        if error.code not in _NOT_ALLOWED:
            raise
        return -1, -1
    return answer.producer_id, answer.producer_epoch
