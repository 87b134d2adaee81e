"""From one image to the next: replay records, then apply them all at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from headrace.base.checks import InvariantBrokenError
from headrace.metadata import records as r
from headrace.metadata import security_delta
from headrace.metadata.changes import MetadataChanges
from headrace.metadata.features import METADATA_VERSION
from headrace.metadata.image import (
    BrokerImage,
    ConfigResource,
    ControllerImage,
    EndpointImage,
    MetadataImage,
)
from headrace.metadata.record_codec import AnyRecord, UnknownRecord
from headrace.metadata.topics_delta import TopicsDelta


class MetadataDelta:
    """Collects the effect of records on an image."""

    def __init__(self, image: MetadataImage) -> None:
        self.image = image
        self.changes = MetadataChanges()
        self._topics = TopicsDelta(image)
        #: Fields of the image that are being replaced.
        self._drafts: dict[str, Any] = {}

    def replay(self, record: AnyRecord) -> None:
        """Take one record into account. Transactions are the business of `replay.Replayer`."""
        if isinstance(record, UnknownRecord):
            unknown = self._drafts.get("unknown", self.image.unknown)
            self._drafts["unknown"] = (*unknown, record)
            return
        _REPLAYERS[type(record)](self, record)

    def apply(
        self, *, offset: int, epoch: int, timestamp_ms: int
    ) -> tuple[MetadataImage, MetadataChanges]:
        """The image as of `offset`, and what is different in it."""
        topics = self._topics.apply(self.changes.topics)
        if topics is not None:
            self._drafts["topics_by_name"], self._drafts["topics_by_id"] = topics
        image = replace(
            self.image, offset=offset, epoch=epoch, timestamp_ms=timestamp_ms, **self._drafts
        )
        return image, self.changes

    def draft(self, name: str) -> Any:
        """A field of the image, copied when it is first written to."""
        draft = self._drafts.get(name)
        if draft is None:
            draft = self._drafts[name] = dict(getattr(self.image, name))
        return draft

    def _broker(self, broker_id: int, epoch: int, record: r.MetadataRecord) -> BrokerImage:
        brokers: Mapping[int, BrokerImage] = self._drafts.get("brokers", self.image.brokers)
        broker = brokers.get(broker_id)
        if broker is None or broker.epoch != epoch:
            raise InvariantBrokenError(
                f"{record!r} is about broker {broker_id} with epoch {epoch}, but registered is"
                f" {'none' if broker is None else f'epoch {broker.epoch}'}"
            )
        return broker

    def _put_broker(self, broker: BrokerImage) -> None:
        self.draft("brokers")[broker.broker_id] = broker
        self.changes.brokers.add(broker.broker_id)

    # Cluster

    def register_broker(self, record: r.RegisterBrokerRecord) -> None:
        cordoned = record.cordoned_log_dirs
        self._put_broker(
            BrokerImage(
                record.broker_id,
                record.broker_epoch,
                record.incarnation_id,
                _endpoints(record.end_points),
                _features(record.features),
                record.rack,
                record.fenced,
                record.in_controlled_shutdown,
                tuple(record.log_dirs),
                None if cordoned is None else tuple(cordoned),
                record.is_migrating_zk_broker,
            )
        )

    def unregister_broker(self, record: r.UnregisterBrokerRecord) -> None:
        self._broker(record.broker_id, record.broker_epoch, record)
        del self.draft("brokers")[record.broker_id]
        self.changes.brokers.add(record.broker_id)

    def fence_broker(self, record: r.FenceBrokerRecord | r.UnfenceBrokerRecord) -> None:
        broker = self._broker(record.id, record.epoch, record)
        self._put_broker(replace(broker, fenced=isinstance(record, r.FenceBrokerRecord)))

    def change_registration(self, record: r.BrokerRegistrationChangeRecord) -> None:
        broker = self._broker(record.broker_id, record.broker_epoch, record)
        if record.fenced:
            broker = replace(broker, fenced=record.fenced > 0)
        if record.in_controlled_shutdown:
            broker = replace(broker, in_controlled_shutdown=record.in_controlled_shutdown > 0)
        if record.log_dirs:
            broker = replace(broker, directories=tuple(record.log_dirs))
        if record.cordoned_log_dirs is not None:
            broker = replace(broker, cordoned_directories=tuple(record.cordoned_log_dirs))
        self._put_broker(broker)

    def register_controller(self, record: r.RegisterControllerRecord) -> None:
        self.draft("controllers")[record.controller_id] = ControllerImage(
            record.controller_id,
            record.incarnation_id,
            record.zk_migration_ready,
            _endpoints(record.end_points),
            _features(record.features),
        )
        self.changes.controllers.add(record.controller_id)

    def set_feature(self, record: r.FeatureLevelRecord) -> None:
        features = self.draft("features")
        if record.feature_level == 0 and record.name != METADATA_VERSION:
            features.pop(record.name, None)
        else:
            features[record.name] = record.feature_level
        self.changes.features.add(record.name)

    def set_zk_migration_state(self, record: r.ZkMigrationStateRecord) -> None:
        self._drafts["zk_migration_state"] = record.zk_migration_state

    # Topics

    def add_topic(self, record: r.TopicRecord) -> None:
        self._topics.add_topic(record)

    def add_partition(self, record: r.PartitionRecord) -> None:
        self._topics.add_partition(record)

    def change_partition(self, record: r.PartitionChangeRecord) -> None:
        self._topics.change_partition(record)

    def clear_elr(self, record: r.ClearElrRecord) -> None:
        self._topics.clear_elr(record)

    def remove_topic(self, record: r.RemoveTopicRecord) -> None:
        key = (int(ConfigResource.TOPIC), self._topics.remove_topic(record))
        if key in self._drafts.get("configs", self.image.configs):
            del self.draft("configs")[key]
            self.changes.configs.add(key)

    # Settings, quotas, producer ids

    def set_config(self, record: r.ConfigRecord) -> None:
        key = (record.resource_type, record.resource_name)
        configs = self.draft("configs")
        settings = dict(configs.get(key, ()))
        if record.value is None:
            settings.pop(record.name, None)
        else:
            settings[record.name] = record.value
        if settings:
            configs[key] = settings
        else:
            configs.pop(key, None)
        self.changes.configs.add(key)

    def set_quota(self, record: r.ClientQuotaRecord) -> None:
        pairs = [(part.entity_type, part.entity_name) for part in record.entity]
        entity = tuple(sorted(pairs, key=lambda pair: pair[0]))
        quotas = self.draft("quotas")
        values = dict(quotas.get(entity, ()))
        if record.remove:
            values.pop(record.key, None)
        else:
            values[record.key] = record.value
        if values:
            quotas[entity] = values
        else:
            quotas.pop(entity, None)
        self.changes.quotas.add(entity)

    def set_producer_ids(self, record: r.ProducerIdsRecord) -> None:
        self._drafts["next_producer_id"] = record.next_producer_id
        self.changes.producer_ids = True

    def pass_over(self, record: r.MetadataRecord) -> None:
        """Records without an effect on the image."""


def _endpoints(endpoints: list[Any]) -> tuple[EndpointImage, ...]:
    return tuple(
        EndpointImage(end.name, end.host, end.port, end.security_protocol) for end in endpoints
    )


def _features(features: list[Any]) -> dict[str, tuple[int, int]]:
    return {f.name: (f.min_supported_version, f.max_supported_version) for f in features}


_REPLAYERS: dict[type[r.MetadataRecord], Callable[[MetadataDelta, Any], None]] = {
    r.RegisterBrokerRecord: MetadataDelta.register_broker,
    r.UnregisterBrokerRecord: MetadataDelta.unregister_broker,
    r.TopicRecord: MetadataDelta.add_topic,
    r.PartitionRecord: MetadataDelta.add_partition,
    r.ConfigRecord: MetadataDelta.set_config,
    r.PartitionChangeRecord: MetadataDelta.change_partition,
    r.FenceBrokerRecord: MetadataDelta.fence_broker,
    r.UnfenceBrokerRecord: MetadataDelta.fence_broker,
    r.RemoveTopicRecord: MetadataDelta.remove_topic,
    r.DelegationTokenRecord: security_delta.set_token,
    r.UserScramCredentialRecord: security_delta.set_scram,
    r.FeatureLevelRecord: MetadataDelta.set_feature,
    r.ClientQuotaRecord: MetadataDelta.set_quota,
    r.ProducerIdsRecord: MetadataDelta.set_producer_ids,
    r.BrokerRegistrationChangeRecord: MetadataDelta.change_registration,
    r.AccessControlEntryRecord: security_delta.add_acl,
    r.RemoveAccessControlEntryRecord: security_delta.remove_acl,
    r.NoOpRecord: MetadataDelta.pass_over,
    r.ZkMigrationStateRecord: MetadataDelta.set_zk_migration_state,
    r.RemoveUserScramCredentialRecord: security_delta.remove_scram,
    r.BeginTransactionRecord: MetadataDelta.pass_over,
    r.EndTransactionRecord: MetadataDelta.pass_over,
    r.AbortTransactionRecord: MetadataDelta.pass_over,
    r.RemoveDelegationTokenRecord: security_delta.remove_token,
    r.RegisterControllerRecord: MetadataDelta.register_controller,
    r.ClearElrRecord: MetadataDelta.clear_elr,
}
