"""The transaction coordinators of this node: made of their parts, and kept in step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from headrace.base.clock import Clock
from headrace.base.errors import KafkaError
from headrace.base.settings.typed import Values, flag, integer
from headrace.broker.coordination.admission import Admission, AdmissionConfig
from headrace.broker.coordination.coordinators import Coordinators
from headrace.broker.coordination.groups import Groups
from headrace.broker.coordination.internal_topics import TRANSACTIONS_TOPIC, InternalTopic
from headrace.broker.coordination.marker_writer import MarkerWriter
from headrace.broker.coordination.partition_markers import PartitionMarkers
from headrace.broker.coordination.transactions import Transactions
from headrace.broker.parked import Scheduler
from headrace.broker.partitions import Partitions
from headrace.broker.producer_ids import ProducerIds
from headrace.metadata.changes import MetadataChanges
from headrace.metadata.controller.producer_ids import ProducerIdBlock, allocate_producer_ids
from headrace.metadata.features import TRANSACTION_VERSION
from headrace.metadata.image import ConfigResource, MetadataImage
from headrace.replication.partition import Partition
from headrace.server.metadata_plane import MetadataPlane
from headrace.transactions.config import TransactionConfig
from headrace.transactions.coordinator import TransactionCoordinator
from headrace.transactions.record_codec import TransactionRecordCodec


class TransactionServices:
    """What transactions need, of the coordinators and of everybody who writes."""

    def __init__(
        self,
        values: Callable[[], Values],
        plane: MetadataPlane,
        partitions: Partitions,
        groups: Groups,
        scheduler: Scheduler,
        clock: Clock,
        producer_ids: ProducerIds,
    ) -> None:
        """`values` are the broker's settings as they are now; some change while it runs."""
        self.producer_ids = producer_ids
        self._values = values
        self._partitions = partitions
        self._admission_config = admission_config(values())
        self.markers = PartitionMarkers(
            partitions,
            groups.coordinators,
            scheduler,
            clock,
            integer(values(), "request.timeout.ms"),
        )
        writer = MarkerWriter(self.markers, lambda: plane.image, scheduler)
        config = transaction_config(values())

        def transaction_version() -> int:
            return plane.image.features.get(TRANSACTION_VERSION, 0)

        def coordinator(partition: Partition) -> TransactionCoordinator:
            return TransactionCoordinator(
                config,
                take_producer_id=producer_ids.take_now,
                transaction_version=transaction_version,
                coordinator_epoch=lambda: partition.leadership.leader_epoch,
            )

        self.transactions = Transactions(
            Coordinators(
                TRANSACTIONS_TOPIC,
                coordinator,
                TransactionRecordCodec(transaction_version),
                lambda: plane.image,
                scheduler,
                clock,
                writer.perform,
            )
        )
        self.admission = Admission(
            self.transactions, scheduler, clock, lambda: self._admission_config
        )

    def follow(self, plane: MetadataPlane) -> None:
        """Lead what this node leads now, and follow every change from here on.

        To be called after the partitions themselves follow the metadata.
        """
        self.transactions.coordinators.start(self._partitions)
        plane.subscribe(self._changed)

    def close(self) -> None:
        self.transactions.coordinators.close()

    def _changed(self, changes: MetadataChanges, image: MetadataImage) -> None:
        self.transactions.coordinators.metadata_changed(changes, self._partitions)
        if any(kind == ConfigResource.BROKER for kind, _ in changes.configs):
            self._admission_config = admission_config(self._values())


@dataclass(frozen=True, slots=True)
class BrokerIdentity:
    """Who asks the controller for producer ids."""

    node_id: int
    broker_epoch: int


def producer_ids_of(broker: BrokerIdentity, plane: MetadataPlane) -> ProducerIds:
    def allocate(done: Callable[[tuple[int, int] | KafkaError], None]) -> None:
        def allocated(reply: ProducerIdBlock | KafkaError) -> None:
            done(reply if isinstance(reply, KafkaError) else (reply.first, reply.size))

        plane.submit(
            lambda image: allocate_producer_ids(image, broker.node_id, broker.broker_epoch),
            allocated,
        )

    return ProducerIds(allocate)


def transaction_config(values: Values) -> TransactionConfig:
    return TransactionConfig(
        timeout_ms_max=integer(values, "transaction.max.timeout.ms"),
        id_expiration_ms=integer(values, "transactional.id.expiration.ms"),
        abort_check_interval_ms=integer(
            values, "transaction.abort.timed.out.transaction.cleanup.interval.ms"
        ),
        expiration_check_interval_ms=integer(
            values, "transaction.remove.expired.transaction.cleanup.interval.ms"
        ),
    )


def admission_config(values: Values) -> AdmissionConfig:
    return AdmissionConfig(
        verifies=flag(values, "transaction.partition.verification.enable"),
        retry_ms=integer(values, "add.partitions.to.txn.retry.backoff.ms"),
        retry_ms_max=min(
            integer(values, "add.partitions.to.txn.retry.backoff.max.ms"),
            integer(values, "request.timeout.ms"),
        ),
    )


def transactions_topic(values: Values) -> InternalTopic:
    """How `__transaction_state` is made when the first transaction needs it."""
    return InternalTopic(
        TRANSACTIONS_TOPIC,
        partitions=integer(values, "transaction.state.log.num.partitions"),
        replication_factor=integer(values, "transaction.state.log.replication.factor"),
        configs={
            "cleanup.policy": "compact",
            "compression.type": "uncompressed",
            "min.insync.replicas": str(integer(values, "transaction.state.log.min.isr")),
            "segment.bytes": str(integer(values, "transaction.state.log.segment.bytes")),
            "unclean.leader.election.enable": "false",
        },
    )
