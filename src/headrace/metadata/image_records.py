"""An image written as records again, in the order of Kafka's own snapshots."""

from collections.abc import Iterator

from headrace.metadata import records as r
from headrace.metadata.features import METADATA_VERSION
from headrace.metadata.image import (
    BrokerImage,
    ControllerImage,
    MetadataImage,
    PartitionImage,
)
from headrace.metadata.record_codec import AnyRecord


def image_records(image: MetadataImage) -> Iterator[AnyRecord]:
    """Every record that is needed to build `image` from nothing."""
    # The metadata.version comes first: it says how to read what follows.
    yield r.FeatureLevelRecord(name=METADATA_VERSION, feature_level=image.metadata_version)
    for name, level in sorted(image.features.items()):
        if name != METADATA_VERSION:
            yield r.FeatureLevelRecord(name=name, feature_level=level)
    if image.zk_migration_state is not None:
        yield r.ZkMigrationStateRecord(zk_migration_state=image.zk_migration_state)
    for broker in image.brokers.values():
        yield broker_record(broker)
    for controller in image.controllers.values():
        yield controller_record(controller)
    for topic in image.topics_by_id.values():
        yield r.TopicRecord(name=topic.name, topic_id=topic.topic_id)
        for index, partition in enumerate(topic.partitions):
            yield partition_record(topic.topic_id, index, partition)
    for (resource_type, resource_name), settings in image.configs.items():
        for name, value in settings.items():
            yield r.ConfigRecord(
                resource_type=resource_type, resource_name=resource_name, name=name, value=value
            )
    for entity, quotas in image.quotas.items():
        parts = [r.EntityData(entity_type=kind, entity_name=name) for kind, name in entity]
        for key, number in quotas.items():
            yield r.ClientQuotaRecord(entity=parts, key=key, value=number, remove=False)
    if image.next_producer_id >= 0:
        yield r.ProducerIdsRecord(
            broker_id=-1, broker_epoch=-1, next_producer_id=image.next_producer_id
        )
    yield from _security_records(image)
    yield from image.unknown


def _security_records(image: MetadataImage) -> Iterator[AnyRecord]:
    for acl_id, acl in image.acls.items():
        yield r.AccessControlEntryRecord(id=acl_id, **acl._asdict())
    for (user, mechanism), credential in image.scram.items():
        yield r.UserScramCredentialRecord(name=user, mechanism=mechanism, **credential._asdict())
    for token_id, token in image.tokens.items():
        yield r.DelegationTokenRecord(
            owner=token.owner,
            requester=token.requester,
            renewers=list(token.renewers),
            issue_timestamp=token.issue_timestamp,
            max_timestamp=token.max_timestamp,
            expiration_timestamp=token.expiration_timestamp,
            token_id=token_id,
        )


def partition_record(topic_id: bytes, index: int, partition: PartitionImage) -> r.PartitionRecord:
    """A partition's first record, or its record in a snapshot."""
    return r.PartitionRecord(
        partition_id=index,
        topic_id=topic_id,
        replicas=list(partition.replicas),
        isr=list(partition.isr),
        removing_replicas=list(partition.removing_replicas),
        adding_replicas=list(partition.adding_replicas),
        leader=partition.leader,
        leader_recovery_state=partition.leader_recovery_state,
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
        directories=list(partition.directories),
        # Kafka leaves the tags out where there is nothing to say.
        eligible_leader_replicas=list(partition.elr) or None,
        last_known_elr=list(partition.last_known_elr) or None,
    )


def broker_record(broker: BrokerImage) -> r.RegisterBrokerRecord:
    """A broker's registration."""
    cordoned = broker.cordoned_directories
    return r.RegisterBrokerRecord(
        broker_id=broker.broker_id,
        is_migrating_zk_broker=broker.is_migrating_zk_broker,
        incarnation_id=broker.incarnation_id,
        broker_epoch=broker.epoch,
        end_points=[
            r.BrokerEndpoint(name=name, host=host, port=port, security_protocol=protocol)
            for name, host, port, protocol in broker.endpoints
        ],
        features=[
            r.BrokerFeature(name=name, min_supported_version=low, max_supported_version=high)
            for name, (low, high) in broker.features.items()
        ],
        rack=broker.rack,
        fenced=broker.fenced,
        in_controlled_shutdown=broker.in_controlled_shutdown,
        log_dirs=list(broker.directories),
        cordoned_log_dirs=None if cordoned is None else list(cordoned),
    )


def controller_record(controller: ControllerImage) -> r.RegisterControllerRecord:
    """A controller's registration."""
    return r.RegisterControllerRecord(
        controller_id=controller.controller_id,
        incarnation_id=controller.incarnation_id,
        zk_migration_ready=controller.zk_migration_ready,
        end_points=[
            r.ControllerEndpoint(name=name, host=host, port=port, security_protocol=protocol)
            for name, host, port, protocol in controller.endpoints
        ],
        features=[
            r.ControllerFeature(name=name, min_supported_version=low, max_supported_version=high)
            for name, (low, high) in controller.features.items()
        ],
    )
