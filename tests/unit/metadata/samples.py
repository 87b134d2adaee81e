"""Images to begin with."""

from collections.abc import Iterable

from headrace.metadata import records as r
from headrace.metadata.delta import MetadataDelta
from headrace.metadata.features import SUPPORTED, default_levels
from headrace.metadata.image import EMPTY_IMAGE, MetadataImage
from headrace.metadata.record_codec import AnyRecord

DIRECTORY = bytes(range(16))
TOPIC_A = b"A" * 16
TOPIC_B = b"B" * 16


def replayed(records: Iterable[AnyRecord], image: MetadataImage = EMPTY_IMAGE) -> MetadataImage:
    """The image after more records."""
    delta = MetadataDelta(image)
    count = 0
    for record in records:
        delta.replay(record)
        count += 1
    return delta.apply(offset=image.offset + count, epoch=1, timestamp_ms=5)[0]


def feature_records() -> list[AnyRecord]:
    return [
        r.FeatureLevelRecord(name=name, feature_level=level)
        for name, level in default_levels().items()
    ]


def broker_records(
    *broker_ids: int,
    fenced: bool = False,
    rack: str | None = None,
    directories: list[bytes] | None = None,
) -> list[AnyRecord]:
    return [
        r.RegisterBrokerRecord(
            broker_id=broker_id,
            incarnation_id=bytes([broker_id]) * 16,
            broker_epoch=100 + broker_id,
            end_points=[r.BrokerEndpoint(name="PLAINTEXT", host="h", port=9092)],
            features=[
                r.BrokerFeature(name=name, min_supported_version=low, max_supported_version=high)
                for name, (low, high) in SUPPORTED.items()
            ],
            rack=rack,
            fenced=fenced,
            log_dirs=directories or [bytes([broker_id]) * 15 + b"d"],
        )
        for broker_id in broker_ids
    ]


def topic_records(
    name: str = "a",
    topic_id: bytes = TOPIC_A,
    partitions: int = 1,
    replicas: tuple[int, ...] = (1,),
) -> list[AnyRecord]:
    return [
        r.TopicRecord(name=name, topic_id=topic_id),
        *(
            r.PartitionRecord(
                partition_id=index,
                topic_id=topic_id,
                replicas=list(replicas),
                isr=list(replicas),
                leader=replicas[0],
                leader_epoch=0,
                partition_epoch=0,
                directories=[bytes([replica]) * 15 + b"d" for replica in replicas],
            )
            for index in range(partitions)
        ),
    ]


def cluster(*broker_ids: int) -> MetadataImage:
    """A cluster of the newest version with these brokers in service."""
    return replayed([*feature_records(), *broker_records(*broker_ids)])
