"""What the controller needs to know besides the image, injected by whoever runs it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from headrace.base.settings.topic import TOPIC_SETTINGS
from headrace.base.settings.values import Value
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

    def topic_setting(self, image: MetadataImage, topic: str, name: str) -> Value:
        """A topic's own value, this node's, or the cluster's; None leaves it to this node's file.

        One that cannot be read counts for nothing: see `Setting.stored`.
        """
        for kind, resource in (
            (ConfigResource.TOPIC, topic),
            (ConfigResource.BROKER, str(self.node_id)),
            (ConfigResource.BROKER, ""),
        ):
            text = image.config(kind, resource).get(name)
            if text is not None and (value := TOPIC_SETTINGS[name].stored(text)) is not None:
                return value
        return None

    def effective_min_isr(self, image: MetadataImage, topic: str, replication_factor: int) -> int:
        """`min.insync.replicas`, which is never more than there are replicas."""
        value = self.topic_setting(image, topic, MIN_INSYNC_REPLICAS)
        wanted = value if isinstance(value, int) else self.min_insync_replicas
        return min(wanted, replication_factor)

    def allows_unclean_election(self, image: MetadataImage, topic: str) -> bool:
        value = self.topic_setting(image, topic, UNCLEAN_ELECTION)
        return value if isinstance(value, bool) else self.unclean_leader_election
