"""Blocks of producer ids: each broker takes a thousand at a time (KIP-730)."""

from dataclasses import dataclass

from headrace.base.errors import ErrorCode, KafkaError
from headrace.metadata.controller.brokers import registered
from headrace.metadata.controller.result import ControllerResult
from headrace.metadata.image import MetadataImage
from headrace.metadata.records import ProducerIdsRecord

BLOCK_SIZE = 1000
_INT64_MAX = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class ProducerIdBlock:
    """The ids from `first` on, `size` of them, are one broker's to give away."""

    first: int
    size: int = BLOCK_SIZE


def allocate_producer_ids(
    image: MetadataImage, broker_id: int, broker_epoch: int
) -> ControllerResult[ProducerIdBlock]:
    """The next block; ids of a block that a crash cuts short are never used."""
    registered(image, broker_id, broker_epoch)
    first = max(image.next_producer_id, 0)
    if first > _INT64_MAX - BLOCK_SIZE:
        raise KafkaError(
            ErrorCode.UNKNOWN_SERVER_ERROR,
            "Exhausted all producerIds as the next block's end producerId has exceeded the int64"
            " type limit",
        )
    record = ProducerIdsRecord(
        broker_id=broker_id, broker_epoch=broker_epoch, next_producer_id=first + BLOCK_SIZE
    )
    return ControllerResult(ProducerIdBlock(first), [record])
