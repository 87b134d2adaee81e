"""What the metadata log says, as of one offset: an immutable picture of the whole cluster.

Brokers see only images. A new one shares with the old whatever did not change: the records of one
batch copy the dictionaries they touch once, and topics and partitions are replaced one by one.
Nobody may change a dictionary of an image.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

from headrace.metadata.features import METADATA_VERSION, OLDEST_METADATA_VERSION
from headrace.metadata.record_codec import UnknownRecord

NO_LEADER = -1


class LeaderRecoveryState(IntEnum):
    """Whether a partition's leader was elected from outside the in-sync replicas (KIP-704)."""

    RECOVERED = 0
    RECOVERING = 1


class ConfigResource(IntEnum):
    """What a setting may belong to."""

    UNKNOWN = 0
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class PartitionImage(NamedTuple):
    """One partition. A named tuple because there are many, and a tuple is made in no time."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int
    partition_epoch: int
    #: The directory of each replica, in the order of `replicas` (KIP-858).
    directories: tuple[bytes, ...]
    adding_replicas: tuple[int, ...] = ()
    removing_replicas: tuple[int, ...] = ()
    #: Eligible leader replicas (KIP-966).
    elr: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()
    leader_recovery_state: int = LeaderRecoveryState.RECOVERED


@dataclass(frozen=True, slots=True)
class TopicImage:
    """A topic; partition n is `partitions[n]`."""

    name: str
    topic_id: bytes
    partitions: tuple[PartitionImage, ...]


class EndpointImage(NamedTuple):
    """Where a node listens."""

    listener: str
    host: str
    port: int
    security_protocol: int


@dataclass(frozen=True, slots=True)
class BrokerImage:
    """A registered broker. Its epoch is the offset of its registration."""

    broker_id: int
    epoch: int
    incarnation_id: bytes
    endpoints: tuple[EndpointImage, ...]
    features: Mapping[str, tuple[int, int]]
    rack: str | None
    fenced: bool
    in_controlled_shutdown: bool
    directories: tuple[bytes, ...]
    #: Directories that get no new partitions (KIP-1066); None if the broker has not said.
    cordoned_directories: tuple[bytes, ...] | None = None
    is_migrating_zk_broker: bool = False

    @property
    def is_active(self) -> bool:
        """Whether the broker may lead partitions and get new ones."""
        return not self.fenced and not self.in_controlled_shutdown


@dataclass(frozen=True, slots=True)
class ControllerImage:
    """A registered controller."""

    controller_id: int
    incarnation_id: bytes
    zk_migration_ready: bool
    endpoints: tuple[EndpointImage, ...]
    features: Mapping[str, tuple[int, int]]


class AclImage(NamedTuple):
    """One access control entry."""

    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int


class ScramImage(NamedTuple):
    """What is stored of a password."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int


class TokenImage(NamedTuple):
    """A delegation token, without its secret, which follows from the cluster's key."""

    owner: str
    requester: str
    renewers: tuple[str, ...]
    issue_timestamp: int
    max_timestamp: int
    expiration_timestamp: int


#: Whom a quota binds: pairs of entity type and name, None for the default, sorted by type.
QuotaEntity = tuple[tuple[str, str | None], ...]
#: A kind of resource and its name; the empty name is the default of all brokers.
ConfigKey = tuple[int, str]


@dataclass(frozen=True, slots=True)
class MetadataImage:
    """Everything in the log up to and including `offset`."""

    offset: int = -1
    epoch: int = 0
    timestamp_ms: int = 0
    features: Mapping[str, int] = field(default_factory=dict)
    topics_by_name: Mapping[str, TopicImage] = field(default_factory=dict)
    topics_by_id: Mapping[bytes, TopicImage] = field(default_factory=dict)
    brokers: Mapping[int, BrokerImage] = field(default_factory=dict)
    controllers: Mapping[int, ControllerImage] = field(default_factory=dict)
    configs: Mapping[ConfigKey, Mapping[str, str]] = field(default_factory=dict)
    quotas: Mapping[QuotaEntity, Mapping[str, float]] = field(default_factory=dict)
    #: First producer id that no block has yet; -1 before the first block.
    next_producer_id: int = -1
    acls: Mapping[bytes, AclImage] = field(default_factory=dict)
    #: (user, mechanism) -> credential.
    scram: Mapping[tuple[str, int], ScramImage] = field(default_factory=dict)
    tokens: Mapping[str, TokenImage] = field(default_factory=dict)
    zk_migration_state: int | None = None
    unknown: tuple[UnknownRecord, ...] = ()

    @property
    def metadata_version(self) -> int:
        return self.features.get(METADATA_VERSION, OLDEST_METADATA_VERSION)

    def config(self, resource_type: int, name: str) -> Mapping[str, str]:
        """The settings stored for a resource; empty if there are none."""
        return self.configs.get((resource_type, name), _NO_CONFIG)

    def partition(self, topic: str, partition: int) -> PartitionImage | None:
        """A partition by name, or None."""
        image = self.topics_by_name.get(topic)
        if image is None or not 0 <= partition < len(image.partitions):
            return None
        return image.partitions[partition]


_NO_CONFIG: Mapping[str, str] = {}
EMPTY_IMAGE = MetadataImage()
