"""What the controller needs to know besides the image, injected by whoever runs it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from headrace.base.uuids import random_uuid
from headrace.metadata.image import ConfigResource, MetadataImage

#: Checks a resource's name and the complete settings that it is to have, beside all others in the
#: image; raises KafkaError(INVALID_CONFIG).
ConfigCheck = Callable[[str, Mapping[str, str], MetadataImage], None]

MIN_INSYNC_REPLICAS = "min.insync.replicas"
UNCLEAN_ELECTION = "unclean.leader.election.enable"


def accept_all(name: str, settings: Mapping[str, str], image: MetadataImage) -> None:
    """A check that finds nothing wrong."""


def no_list(resource_type: int, name: str) -> bool:
    """No setting is a list."""
    return False


def no_default(resource_type: int, name: str) -> str | None:
    """No setting has a default."""
    return None


def first_of(count: int) -> int:
    """Chance that is none: always the first."""
    return 0


@dataclass(frozen=True, slots=True)
class ControllerSettings:
    """Field names follow Kafka's settings."""

    cluster_id: str = ""
    #: Whose own settings hold for the controller too.
    node_id: int = -1
    num_partitions: int = 1
    default_replication_factor: int = 1
    min_insync_replicas: int = 1
    unclean_leader_election: bool = False
    #: The checks for each kind of resource that may have settings.
    config_checks: Mapping[int, ConfigCheck] | None = None
    #: Whether a setting of a kind of resource is a list, to which may be appended.
    is_list_setting: Callable[[int, str], bool] = no_list
    #: What a setting that nobody set stands for, as text.
    default_setting: Callable[[int, str], str | None] = no_default
    new_uuid: Callable[[], bytes] = random_uuid
    #: A number from 0 up to, but not including, the argument: where striping begins.
    chance: Callable[[int], int] = first_of

    def config_check(self, resource_type: int) -> ConfigCheck:
        return (self.config_checks or {}).get(resource_type, accept_all)

    def topic_setting(self, image: MetadataImage, topic: str, name: str, default: str) -> str:
        """A topic's own value, this node's, the cluster's, or the one in this node's file."""
        value = (
            image.config(ConfigResource.TOPIC, topic).get(name)
            or image.config(ConfigResource.BROKER, str(self.node_id)).get(name)
            or image.config(ConfigResource.BROKER, "").get(name)
        )
        return value or default

    def effective_min_isr(self, image: MetadataImage, topic: str, replication_factor: int) -> int:
        """`min.insync.replicas`, which is never more than there are replicas."""
        value = self.topic_setting(image, topic, MIN_INSYNC_REPLICAS, str(self.min_insync_replicas))
        return min(int(value), replication_factor)

    def allows_unclean_election(self, image: MetadataImage, topic: str) -> bool:
        default = "true" if self.unclean_leader_election else "false"
        value = self.topic_setting(image, topic, UNCLEAN_ELECTION, default)
        return value.strip().lower() == "true"
