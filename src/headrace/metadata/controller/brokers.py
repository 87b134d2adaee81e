"""Brokers in and out of service: fencing and unfencing, shutting down in order, leaving for good.

Which broker is alive is not in the image: `sessions` keeps that. Everything here only turns what
is decided into records.
"""

from collections.abc import Sequence

from headrace.base.errors import ErrorCode, KafkaError
from headrace.metadata.controller import leadership
from headrace.metadata.controller.result import ControllerResult
from headrace.metadata.controller.settings import ControllerSettings
from headrace.metadata.features import CORDONED_DIRECTORIES_LEVEL
from headrace.metadata.image import BrokerImage, MetadataImage
from headrace.metadata.record_codec import AnyRecord
from headrace.metadata.records import BrokerRegistrationChangeRecord, UnregisterBrokerRecord

FENCE, UNFENCE = 1, -1
IN_CONTROLLED_SHUTDOWN = 1


def registered(image: MetadataImage, broker_id: int, epoch: int) -> BrokerImage:
    """The broker, if it is registered with this epoch."""
    broker = image.brokers.get(broker_id)
    if broker is None:
        raise KafkaError(
            ErrorCode.STALE_BROKER_EPOCH,
            f"No broker registration found for broker id {broker_id}",
        )
    if broker.epoch != epoch:
        raise KafkaError(
            ErrorCode.STALE_BROKER_EPOCH,
            f"Expected broker epoch {broker.epoch}, but got broker epoch {epoch}",
        )
    return broker


def fence(
    image: MetadataImage, settings: ControllerSettings, broker: BrokerImage
) -> list[AnyRecord]:
    """Records that take a broker out of service."""
    return [
        *leadership.broker_leaves(image, settings, broker.broker_id),
        BrokerRegistrationChangeRecord(
            broker_id=broker.broker_id, broker_epoch=broker.epoch, fenced=FENCE
        ),
    ]


def unfence(
    image: MetadataImage, settings: ControllerSettings, broker: BrokerImage
) -> list[AnyRecord]:
    """Records that put a broker into service."""
    return [
        BrokerRegistrationChangeRecord(
            broker_id=broker.broker_id, broker_epoch=broker.epoch, fenced=UNFENCE
        ),
        *leadership.broker_joins(image, settings, broker.broker_id),
    ]


def begin_shutdown(
    image: MetadataImage, settings: ControllerSettings, broker: BrokerImage
) -> list[AnyRecord]:
    """Records with which a broker hands over its partitions before it stops."""
    records: list[AnyRecord] = []
    if not broker.in_controlled_shutdown:
        records.append(
            BrokerRegistrationChangeRecord(
                broker_id=broker.broker_id,
                broker_epoch=broker.epoch,
                in_controlled_shutdown=IN_CONTROLLED_SHUTDOWN,
            )
        )
    records += leadership.broker_leaves(image, settings, broker.broker_id)
    return records


def cordon(
    image: MetadataImage, broker: BrokerImage, directories: Sequence[bytes]
) -> list[AnyRecord]:
    """Records that say which of a broker's directories get no new partitions (KIP-1066)."""
    if image.metadata_version < CORDONED_DIRECTORIES_LEVEL:
        return []
    known = broker.cordoned_directories
    if known is not None and set(known) == set(directories):
        return []
    return [
        BrokerRegistrationChangeRecord(
            broker_id=broker.broker_id,
            broker_epoch=broker.epoch,
            cordoned_log_dirs=list(directories),
        )
    ]


def unregister_broker(
    image: MetadataImage, settings: ControllerSettings, broker_id: int
) -> ControllerResult[None]:
    """Forget a broker for good."""
    broker = image.brokers.get(broker_id)
    if broker is None:
        raise KafkaError(
            ErrorCode.BROKER_ID_NOT_REGISTERED, f"Broker ID {broker_id} is not currently registered"
        )
    records = leadership.leader_and_isr_updates(
        image,
        settings,
        lambda partition: broker_id in partition.isr or broker_id in partition.elr,
        removed=broker_id,
    )
    records.append(UnregisterBrokerRecord(broker_id=broker_id, broker_epoch=broker.epoch))
    return ControllerResult(None, records)
