"""Transactional batches of a Produce request: all have to be let into their transaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker.context import RequestContext
from headrace.broker.coordination.admission import Admission, Protocol
from headrace.broker.coordination.transactions import may_write
from headrace.broker.produced_batch import ProducedBatch
from headrace.transactions.requests import PartitionErrors
from headrace.transactions.transaction import ProducerIdentity, TopicPartition

_IMPLICIT_SINCE = 12
_ABORTABLE_SINCE = 11

#: The coordinator cannot answer now; producers of all versions try again on this error.
_ASK_AGAIN = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)


class TransactionalProduce:
    """The transactional batches of one request."""

    def __init__(
        self,
        admission: Admission,
        context: RequestContext,
        transactional_id: str | None,
        batches: Sequence[ProducedBatch],
    ) -> None:
        """Raises `KafkaError` for the whole request."""
        if transactional_id is None or not may_write(context, transactional_id):
            raise KafkaError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
        producers = {
            ProducerIdentity(batch.header.producer_id, batch.header.producer_epoch)
            for batch in batches
        }
        if len(producers) > 1:
            raise KafkaError(
                ErrorCode.INVALID_PRODUCER_ID_MAPPING,
                "Transactional records contained more than one producer ID",
            )
        self._admission = admission
        self._transactional_id = transactional_id
        self._producer = producers.pop()
        self._batches = batches
        self._protocol = _protocol(context.api_version)

    def admit(self, done: Callable[[], None]) -> None:
        """Set `failure` of each batch that may not be written; `done` has to write the others."""
        # All batches of a partition: nothing keeps a client from naming it twice.
        asking: dict[TopicPartition, list[ProducedBatch]] = {}
        for batch in self._batches:
            partition = batch.partition
            if batch.failure is not None:
                continue
            try:
                partition.require_leader(-1)
                if self._admission.is_needed(partition, self._producer, self._protocol):
                    at = TopicPartition(partition.topic, partition.index)
                    asking.setdefault(at, []).append(batch)
            except KafkaError as error:
                batch.failure = error
        if not asking:
            done()
            return

        def answered(errors: PartitionErrors) -> None:
            for at, batches in asking.items():
                for batch in batches:
                    self._settle(batch, errors.get(at, ErrorCode.NONE))
            done()

        self._admission.ask(
            self._transactional_id, self._producer, frozenset(asking), self._protocol, answered
        )

    def _settle(self, batch: ProducedBatch, code: ErrorCode) -> None:
        producer_id = self._producer.producer_id
        is_unknown = batch.partition.log.producers.get(producer_id) is None
        if code:
            batch.failure = self._refusal(code)
        elif self._protocol is Protocol.IMPLICIT and is_unknown and batch.header.base_sequence:
            # The epoch is new, so sequences begin at 0. Where nothing is known of the producer,
            # only this rule keeps a batch from overtaking the first one.
            batch.failure = KafkaError(
                ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"Invalid sequence number for producer {producer_id}:"
                f" {batch.header.base_sequence} (incoming), 0 (expected).",
            )

    def _refusal(self, code: ErrorCode) -> KafkaError:
        is_ending = code is ErrorCode.CONCURRENT_TRANSACTIONS
        if code in _ASK_AGAIN or (is_ending and self._protocol is not Protocol.IMPLICIT):
            return KafkaError(
                ErrorCode.NOT_ENOUGH_REPLICAS,
                "Unable to verify the partition has been added to the transaction."
                f" Underlying error: {code.name}",
            )
        if code is ErrorCode.INVALID_TXN_STATE:
            return KafkaError(code, "Partition was not added to the transaction")
        return KafkaError(code)


def _protocol(version: int) -> Protocol:
    if version >= _IMPLICIT_SINCE:
        return Protocol.IMPLICIT
    return Protocol.ABORTABLE if version >= _ABORTABLE_SINCE else Protocol.FIRST
