"""The records of the `__cluster_metadata` log."""

from __future__ import annotations

from typing import ClassVar

from headrace.protocol.schema import (
    Message,
    Struct,
    array,
    binary,
    boolean,
    float64,
    int8,
    int16,
    int32,
    int64,
    string,
    uint16,
    uuid,
)


class MetadataRecord(Message):
    """A record of the metadata log; its key says which one it is."""

    api_key: ClassVar[int]

    def __init_subclass__(
        cls, key: int = -1, versions: str = "none", flexible: str = "none"
    ) -> None:
        super().__init_subclass__(versions=versions, flexible=flexible)
        cls.api_key = key


class BrokerEndpoint(Struct):
    name: str = string()
    host: str = string()
    port: int = uint16()
    security_protocol: int = int16()


class BrokerFeature(Struct):
    name: str = string()
    min_supported_version: int = int16()
    max_supported_version: int = int16()


class RegisterBrokerRecord(MetadataRecord, key=0, versions="0-4", flexible="0+"):
    broker_id: int = int32()
    is_migrating_zk_broker: bool = boolean("2+")
    incarnation_id: bytes = uuid()
    broker_epoch: int = int64()
    end_points: list[BrokerEndpoint] = array(BrokerEndpoint)
    features: list[BrokerFeature] = array(BrokerFeature)
    rack: str | None = string(null="0+")
    fenced: bool = boolean(default=True)
    in_controlled_shutdown: bool = boolean("1+")
    log_dirs: list[bytes] = array(uuid, "3+", tag=0)
    cordoned_log_dirs: list[bytes] | None = array(uuid, "4+", null="4+", tag=1, default=None)


class UnregisterBrokerRecord(MetadataRecord, key=1, versions="0", flexible="0+"):
    broker_id: int = int32()
    broker_epoch: int = int64()


class TopicRecord(MetadataRecord, key=2, versions="0", flexible="0+"):
    name: str = string()
    topic_id: bytes = uuid()


class PartitionRecord(MetadataRecord, key=3, versions="0-2", flexible="0+"):
    partition_id: int = int32(default=-1)
    topic_id: bytes = uuid()
    replicas: list[int] = array(int32)
    isr: list[int] = array(int32)
    removing_replicas: list[int] = array(int32)
    adding_replicas: list[int] = array(int32)
    leader: int = int32(default=-1)
    leader_recovery_state: int = int8(tag=0)
    leader_epoch: int = int32(default=-1)
    partition_epoch: int = int32(default=-1)
    directories: list[bytes] = array(uuid, "1+")
    eligible_leader_replicas: list[int] | None = array(int32, "2+", null="2+", tag=1, default=None)
    last_known_elr: list[int] | None = array(int32, "2+", null="2+", tag=2, default=None)


class ConfigRecord(MetadataRecord, key=4, versions="0", flexible="0+"):
    resource_type: int = int8()
    resource_name: str = string()
    name: str = string()
    value: str | None = string(null="0+")


class PartitionChangeRecord(MetadataRecord, key=5, versions="0-2", flexible="0+"):
    partition_id: int = int32(default=-1)
    topic_id: bytes = uuid()
    isr: list[int] | None = array(int32, null="0+", tag=0, default=None)
    leader: int = int32(tag=1, default=-2)
    replicas: list[int] | None = array(int32, null="0+", tag=2, default=None)
    removing_replicas: list[int] | None = array(int32, null="0+", tag=3, default=None)
    adding_replicas: list[int] | None = array(int32, null="0+", tag=4, default=None)
    leader_recovery_state: int = int8(tag=5, default=-1)
    directories: list[bytes] | None = array(uuid, "1+", null="1+", tag=8, default=None)
    eligible_leader_replicas: list[int] | None = array(int32, "2+", null="2+", tag=6, default=None)
    last_known_elr: list[int] | None = array(int32, "2+", null="2+", tag=7, default=None)


class FenceBrokerRecord(MetadataRecord, key=7, versions="0", flexible="0+"):
    id: int = int32()
    epoch: int = int64()


class UnfenceBrokerRecord(MetadataRecord, key=8, versions="0", flexible="0+"):
    id: int = int32()
    epoch: int = int64()


class RemoveTopicRecord(MetadataRecord, key=9, versions="0", flexible="0+"):
    topic_id: bytes = uuid()


class DelegationTokenRecord(MetadataRecord, key=10, versions="0", flexible="0+"):
    owner: str = string()
    requester: str = string()
    renewers: list[str] = array(string)
    issue_timestamp: int = int64()
    max_timestamp: int = int64()
    expiration_timestamp: int = int64()
    token_id: str = string()


class UserScramCredentialRecord(MetadataRecord, key=11, versions="0", flexible="0+"):
    name: str = string()
    mechanism: int = int8()
    salt: bytes = binary()
    stored_key: bytes = binary()
    server_key: bytes = binary()
    iterations: int = int32()


class FeatureLevelRecord(MetadataRecord, key=12, versions="0", flexible="0+"):
    name: str = string()
    feature_level: int = int16()


class EntityData(Struct):
    entity_type: str = string()
    entity_name: str | None = string(null="0+")


class ClientQuotaRecord(MetadataRecord, key=14, versions="0", flexible="0+"):
    entity: list[EntityData] = array(EntityData)
    key: str = string()
    value: float = float64()
    remove: bool = boolean()


class ProducerIdsRecord(MetadataRecord, key=15, versions="0", flexible="0+"):
    broker_id: int = int32()
    broker_epoch: int = int64(default=-1)
    next_producer_id: int = int64()


class BrokerRegistrationChangeRecord(MetadataRecord, key=17, versions="0-3", flexible="0+"):
    broker_id: int = int32()
    broker_epoch: int = int64()
    fenced: int = int8(tag=0)
    in_controlled_shutdown: int = int8("1+", tag=1)
    log_dirs: list[bytes] = array(uuid, "2+", tag=2)
    cordoned_log_dirs: list[bytes] | None = array(uuid, "3+", null="3+", tag=3, default=None)


class AccessControlEntryRecord(MetadataRecord, key=18, versions="0", flexible="0+"):
    id: bytes = uuid()
    resource_type: int = int8()
    resource_name: str = string()
    pattern_type: int = int8()
    principal: str = string()
    host: str = string()
    operation: int = int8()
    permission_type: int = int8()


class RemoveAccessControlEntryRecord(MetadataRecord, key=19, versions="0", flexible="0+"):
    id: bytes = uuid()


class NoOpRecord(MetadataRecord, key=20, versions="0", flexible="0+"):
    pass


class ZkMigrationStateRecord(MetadataRecord, key=21, versions="0", flexible="0+"):
    zk_migration_state: int = int8()


class RemoveUserScramCredentialRecord(MetadataRecord, key=22, versions="0", flexible="0+"):
    name: str = string()
    mechanism: int = int8()


class BeginTransactionRecord(MetadataRecord, key=23, versions="0", flexible="0+"):
    name: str | None = string(null="0+", tag=0, default=None)


class EndTransactionRecord(MetadataRecord, key=24, versions="0", flexible="0+"):
    pass


class AbortTransactionRecord(MetadataRecord, key=25, versions="0", flexible="0+"):
    reason: str | None = string(null="0+", tag=0, default=None)


class RemoveDelegationTokenRecord(MetadataRecord, key=26, versions="0", flexible="0+"):
    token_id: str = string()


class ControllerEndpoint(Struct):
    name: str = string()
    host: str = string()
    port: int = uint16()
    security_protocol: int = int16()


class ControllerFeature(Struct):
    name: str = string()
    min_supported_version: int = int16()
    max_supported_version: int = int16()


class RegisterControllerRecord(MetadataRecord, key=27, versions="0", flexible="0+"):
    controller_id: int = int32()
    incarnation_id: bytes = uuid()
    zk_migration_ready: bool = boolean()
    end_points: list[ControllerEndpoint] = array(ControllerEndpoint)
    features: list[ControllerFeature] = array(ControllerFeature)


class ClearElrRecord(MetadataRecord, key=28, versions="0", flexible="0+"):
    topic_name: str = string()
