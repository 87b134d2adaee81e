"""The feature levels of Kafka 4.3: which exist, which this node supports, what they depend on.

`metadata.version` decides which versions of the records may be written, so that every node of a
cluster can read them; the other features switch protocols on for clients and coordinators.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

METADATA_VERSION = "metadata.version"
KRAFT_VERSION = "kraft.version"
ELR_VERSION = "eligible.leader.replicas.version"
TRANSACTION_VERSION = "transaction.version"
GROUP_VERSION = "group.version"
SHARE_VERSION = "share.version"
STREAMS_VERSION = "streams.version"

#: Levels of metadata.version that first have an ability.
SCRAM_LEVEL = 11
TRANSACTIONS_LEVEL = 13
DELEGATION_TOKENS_LEVEL = 14
CONTROLLER_REGISTRATION_LEVEL = 15
DIRECTORY_ASSIGNMENT_LEVEL = 17
ELR_LEVEL = 23
CORDONED_DIRECTORIES_LEVEL = 30

#: Level -> (name, whether the format of metadata records changed with it).
METADATA_VERSIONS: Mapping[int, tuple[str, bool]] = MappingProxyType(
    {
        7: ("3.3-IV3", True),
        8: ("3.4-IV0", True),
        9: ("3.5-IV0", False),
        10: ("3.5-IV1", False),
        11: ("3.5-IV2", True),
        12: ("3.6-IV0", False),
        13: ("3.6-IV1", True),
        14: ("3.6-IV2", True),
        15: ("3.7-IV0", True),
        16: ("3.7-IV1", False),
        17: ("3.7-IV2", True),
        18: ("3.7-IV3", False),
        19: ("3.7-IV4", False),
        20: ("3.8-IV0", False),
        21: ("3.9-IV0", False),
        22: ("4.0-IV0", False),
        23: ("4.0-IV1", True),
        24: ("4.0-IV2", False),
        25: ("4.0-IV3", False),
        26: ("4.1-IV0", False),
        27: ("4.1-IV1", False),
        28: ("4.2-IV0", False),
        29: ("4.2-IV1", False),
        30: ("4.3-IV0", True),
    }
)
OLDEST_METADATA_VERSION = 7
LATEST_METADATA_VERSION = 30


@dataclass(frozen=True, slots=True)
class Feature:
    """One feature besides metadata.version: its levels and when each became the default."""

    name: str
    level_max: int
    #: Level -> the metadata.version from which a fresh cluster gets it.
    default_from: Mapping[int, int]
    #: Level -> other features it needs at a level or above.
    needs: Mapping[int, Mapping[str, int]] = field(default_factory=dict)

    def default_level(self, metadata_version: int) -> int:
        """The level that `storage format` chooses for a cluster of this metadata.version."""
        return max(
            (level for level, since in self.default_from.items() if metadata_version >= since),
            default=0,
        )


FEATURES: Mapping[str, Feature] = MappingProxyType(
    {
        feature.name: feature
        for feature in (
            Feature(KRAFT_VERSION, 1, {1: 21}),
            Feature(TRANSACTION_VERSION, 2, {1: 24, 2: 24}),
            Feature(GROUP_VERSION, 1, {1: 22}),
            Feature(ELR_VERSION, 1, {1: 26}, {1: {METADATA_VERSION: ELR_LEVEL}}),
            Feature(SHARE_VERSION, 1, {1: 28}),
            Feature(STREAMS_VERSION, 1, {1: 29}),
        )
    }
)

#: What this node tells others that it supports: name -> (lowest level, highest level).
SUPPORTED: Mapping[str, tuple[int, int]] = MappingProxyType(
    {METADATA_VERSION: (OLDEST_METADATA_VERSION, LATEST_METADATA_VERSION)}
    | {name: (0, feature.level_max) for name, feature in FEATURES.items()}
)


def metadata_version_name(level: int) -> str:
    """What people call a level: `4.3-IV0`."""
    return METADATA_VERSIONS[level][0] if level in METADATA_VERSIONS else f"level {level}"


def metadata_version_level(text: str) -> int:
    """The level of `4.3-IV0`, or the newest one of `4.3`; `ValueError` if there is none."""
    names = {name: level for level, (name, _) in METADATA_VERSIONS.items()}
    if text in names:
        return names[text]
    release = ".".join(text.split(".")[:2])
    levels = [level for name, level in names.items() if name.partition("-")[0] == release]
    if not levels:
        known = ", ".join(names)
        raise ValueError(
            f"Unknown metadata.version '{text}'. Supported metadata.version are: {known}"
        )
    return max(levels)


def metadata_changed_between(one: int, other: int) -> bool:
    """Whether records written at the higher level could be unreadable at the lower one."""
    low, high = sorted((one, other))
    return any(METADATA_VERSIONS[level][1] for level in range(low + 1, high + 1))


def default_levels(metadata_version: int = LATEST_METADATA_VERSION) -> dict[str, int]:
    """The levels of a fresh cluster, in the order in which `storage format` writes them."""
    levels = {METADATA_VERSION: metadata_version}
    for name in sorted(FEATURES):
        if name != KRAFT_VERSION:
            levels[name] = FEATURES[name].default_level(metadata_version)
    return levels


def missing_dependency(levels: Mapping[str, int]) -> str | None:
    """A sentence on the first feature whose dependencies `levels` do not meet."""
    for name, feature in FEATURES.items():
        level = levels.get(name, 0)
        for needed, least in feature.needs.get(level, {}).items():
            if levels.get(needed, 0) < least:
                return (
                    f"{name} could not be set to {level} because it depends on {needed} level"
                    f" {least}"
                )
    return None
