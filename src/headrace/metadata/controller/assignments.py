"""New partitions and the brokers that get them, chosen by us or by the request."""

from collections.abc import Sequence

from headrace.base.errors import ErrorCode, KafkaError
from headrace.metadata.controller.partition_change import default_directory
from headrace.metadata.image import MetadataImage, PartitionImage


def active_replicas(image: MetadataImage, replicas: Sequence[int]) -> list[int]:
    """Those of the replicas whose brokers are in service."""
    return [
        replica
        for replica in replicas
        if (broker := image.brokers.get(replica)) is not None and broker.is_active
    ]


def new_partition(image: MetadataImage, replicas: Sequence[int], isr: list[int]) -> PartitionImage:
    """A partition as it begins."""
    return PartitionImage(
        replicas=tuple(replicas),
        isr=tuple(isr),
        leader=isr[0],
        leader_epoch=0,
        partition_epoch=0,
        directories=tuple(default_directory(image, replica) for replica in replicas),
    )


def placed_partition(
    image: MetadataImage, replicas: Sequence[int], replication_factor: int
) -> PartitionImage:
    """A partition on brokers that the placer chose."""
    isr = active_replicas(image, replicas)
    if not isr:
        raise KafkaError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"Unable to replicate the partition {replication_factor} time(s): All brokers are"
            " currently fenced or in controlled shutdown.",
        )
    return new_partition(image, replicas, isr)


def assigned_partition(
    image: MetadataImage, index: int, replicas: Sequence[int], replication_factor: int | None
) -> PartitionImage:
    """A partition on brokers that the request names."""
    check_assignment(image, replicas, replication_factor)
    isr = active_replicas(image, replicas)
    if not isr:
        raise _invalid(
            "All brokers specified in the manual partition assignment for partition"
            f" {index} are fenced or in controlled shutdown."
        )
    return new_partition(image, replicas, isr)


def check_assignment(
    image: MetadataImage, replicas: Sequence[int], replication_factor: int | None
) -> None:
    """Raise INVALID_REPLICA_ASSIGNMENT unless these brokers can hold one partition."""
    if not replicas:
        raise _invalid("The manual partition assignment includes an empty replica list.")
    previous: int | None = None
    for broker_id in sorted(replicas):
        if broker_id not in image.brokers:
            raise _invalid(
                f"The manual partition assignment includes broker {broker_id}, but no such broker"
                " is registered."
            )
        if broker_id == previous:
            raise _invalid(
                f"The manual partition assignment includes the broker {broker_id} more than once."
            )
        previous = broker_id
    if replication_factor is not None and len(replicas) != replication_factor:
        raise _invalid(
            f"The manual partition assignment includes a partition with {len(replicas)}"
            " replica(s), but this is not consistent with previous partitions, which have"
            f" {replication_factor} replica(s)."
        )


def _invalid(problem: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, problem)
