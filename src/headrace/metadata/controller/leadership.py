"""Leaders and in-sync replicas as brokers come, go and stop: the changes this makes necessary."""

from collections.abc import Callable, Iterator

from headrace.metadata.controller.partition_change import (
    Election,
    PartitionChange,
    default_directory,
    has_online_directory,
)
from headrace.metadata.controller.settings import ControllerSettings
from headrace.metadata.features import ELR_VERSION
from headrace.metadata.image import NO_LEADER, MetadataImage, PartitionImage, TopicImage
from headrace.metadata.record_codec import AnyRecord
from headrace.metadata.records import PartitionChangeRecord

Which = Callable[[PartitionImage], bool]


def partitions_where(
    image: MetadataImage, which: Which
) -> Iterator[tuple[TopicImage, int, PartitionImage]]:
    """All partitions that satisfy `which`."""
    for topic in image.topics_by_id.values():
        for index, partition in enumerate(topic.partitions):
            if which(partition):
                yield topic, index, partition


def new_change(
    image: MetadataImage,
    settings: ControllerSettings,
    topic: TopicImage,
    index: int,
    *,
    can_lead: Callable[[int], bool] | None = None,
    election: Election = Election.ONLINE,
) -> PartitionChange:
    """The beginning of a change of one partition; `can_lead` defaults to active brokers."""
    partition = topic.partitions[index]

    def active(broker_id: int) -> bool:
        broker = image.brokers.get(broker_id)
        return broker is not None and broker.is_active

    acceptable = can_lead or active

    def can_lead_here(broker_id: int) -> bool:
        if not acceptable(broker_id) or broker_id not in partition.replicas:
            return False
        directory = partition.directories[partition.replicas.index(broker_id)]
        return has_online_directory(image.brokers.get(broker_id), directory)

    return PartitionChange(
        partition,
        topic.topic_id,
        index,
        can_lead=can_lead_here,
        min_isr=settings.effective_min_isr(image, topic.name, len(partition.replicas)),
        elr_enabled=elr_enabled(image),
        default_directory=lambda broker_id: default_directory(image, broker_id),
        election=election,
    )


def elr_enabled(image: MetadataImage) -> bool:
    return image.features.get(ELR_VERSION, 0) > 0


def leader_and_isr_updates(
    image: MetadataImage,
    settings: ControllerSettings,
    which: Which,
    *,
    removed: int = NO_LEADER,
    added: int = NO_LEADER,
    unclean: int = NO_LEADER,
) -> list[AnyRecord]:
    """Changes for partitions `which` are concerned by one broker.

    `removed` leaves ISRs and leaderships, `added` may lead from now on, `unclean` stopped without
    warning and so may not even be among the eligible replicas.
    """

    def can_lead(broker_id: int) -> bool:
        if broker_id in (removed, unclean):
            return False
        broker = image.brokers.get(broker_id)
        return broker_id == added or (broker is not None and broker.is_active)

    records: list[AnyRecord] = []
    for topic, index, partition in partitions_where(image, which):
        allows_unclean = settings.allows_unclean_election(image, topic.name)
        change = new_change(
            image,
            settings,
            topic,
            index,
            can_lead=can_lead,
            election=Election.UNCLEAN if allows_unclean else Election.ONLINE,
        )
        change.isr = [replica for replica in partition.isr if replica not in (removed, unclean)]
        if unclean != NO_LEADER:
            change.unclean_replicas = (unclean,)
        record = change.build()
        if record is not None:
            records.append(record)
    return records


def broker_leaves(
    image: MetadataImage, settings: ControllerSettings, broker_id: int
) -> list[AnyRecord]:
    """A broker is fenced or shuts down in order: it leaves its ISRs and leaderships."""
    return leader_and_isr_updates(
        image, settings, lambda partition: broker_id in partition.isr, removed=broker_id
    )


def broker_stopped_uncleanly(
    image: MetadataImage, settings: ControllerSettings, broker_id: int
) -> list[AnyRecord]:
    """A broker comes back after a crash: what it had may be gone."""
    if not elr_enabled(image):
        return broker_leaves(image, settings, broker_id)
    return leader_and_isr_updates(
        image,
        settings,
        lambda partition: broker_id in partition.isr or broker_id in partition.elr,
        unclean=broker_id,
    )


def broker_joins(
    image: MetadataImage, settings: ControllerSettings, broker_id: int
) -> list[AnyRecord]:
    """A broker is unfenced: it may lead partitions that have no leader."""
    return leader_and_isr_updates(
        image, settings, lambda partition: partition.leader == NO_LEADER, added=broker_id
    )


def own_restart(
    image: MetadataImage, settings: ControllerSettings, broker_id: int, *, clean: bool
) -> list[AnyRecord]:
    """The controller's own broker comes back, and is unfenced in the same breath.

    Partitions that it alone has stay with it: leaving and rejoining would only write each of them
    twice. After a crash they get a new leader epoch, which tells consumers where a tail may have
    been lost (KIP-320).
    """
    records: list[AnyRecord] = []
    if not clean:
        records += [
            PartitionChangeRecord(topic_id=topic.topic_id, partition_id=index, leader=broker_id)
            for topic, index, _ in partitions_where(
                image, lambda partition: is_only_replica(partition, broker_id)
            )
        ]

    def leaves(partition: PartitionImage) -> bool:
        is_member = broker_id in partition.isr or (not clean and broker_id in partition.elr)
        return is_member and not is_only_replica(partition, broker_id)

    if clean or not elr_enabled(image):
        records += leader_and_isr_updates(image, settings, leaves, removed=broker_id)
    else:
        records += leader_and_isr_updates(image, settings, leaves, unclean=broker_id)
    return records


def is_only_replica(partition: PartitionImage, broker_id: int) -> bool:
    """Whether a partition lives on this broker alone, and is led by it."""
    alone = (broker_id,)
    return partition.leader == broker_id and partition.replicas == alone and partition.isr == alone
