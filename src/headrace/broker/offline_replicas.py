"""Which replicas of a partition cannot be reached, as Metadata and its kin tell clients."""

from __future__ import annotations

from headrace.base.uuids import DIRECTORY_LOST, DIRECTORY_MIGRATING, DIRECTORY_UNASSIGNED
from headrace.metadata.image import BrokerImage, MetadataImage, PartitionImage

_ANYWHERE = frozenset({DIRECTORY_UNASSIGNED, DIRECTORY_MIGRATING})


def offline_replicas(partition: PartitionImage, image: MetadataImage) -> list[int]:
    """Replicas on brokers that are gone or fenced, and those whose directory failed."""
    return [
        replica
        for replica, directory in zip(partition.replicas, partition.directories, strict=True)
        if (broker := image.brokers.get(replica)) is None
        or broker.fenced
        or not _is_online(broker, directory)
    ]


def _is_online(broker: BrokerImage, directory: bytes) -> bool:
    """Whether a replica's directory is among those that its broker has online (KIP-858)."""
    if directory == DIRECTORY_LOST:
        return False
    if directory in _ANYWHERE:
        return True
    # A broker that registered before KIP-858 has named none.
    return not broker.directories or directory in broker.directories
