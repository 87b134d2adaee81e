"""Raising and lowering the feature levels of the cluster (KIP-584)."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

from headrace.base.errors import ErrorCode, KafkaError
from headrace.metadata.controller.leadership import elr_enabled
from headrace.metadata.controller.result import ControllerResult
from headrace.metadata.controller.settings import MIN_INSYNC_REPLICAS, ControllerSettings
from headrace.metadata.features import (
    ELR_VERSION,
    FEATURES,
    KRAFT_VERSION,
    LATEST_METADATA_VERSION,
    METADATA_VERSION,
    METADATA_VERSIONS,
    OLDEST_METADATA_VERSION,
    SUPPORTED,
    metadata_changed_between,
    missing_dependency,
)
from headrace.metadata.image import ConfigResource, MetadataImage
from headrace.metadata.record_codec import AnyRecord
from headrace.metadata.records import ConfigRecord, FeatureLevelRecord


class UpgradeType(IntEnum):
    """How much a downgrade may lose."""

    UNKNOWN = 0
    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


@dataclass(frozen=True, slots=True)
class FeatureUpdate:
    """A wish for one feature."""

    level: int
    upgrade_type: int = UpgradeType.UPGRADE


def update_features(
    image: MetadataImage,
    settings: ControllerSettings,
    updates: Mapping[str, FeatureUpdate],
    *,
    node_id: int,
    kraft_version: int = 0,
    validate_only: bool = False,
) -> ControllerResult[None]:
    """Change all levels or none; KafkaError(INVALID_UPDATE_VERSION) says which is wrong and why."""
    proposed = {**image.features, **{name: update.level for name, update in updates.items()}}
    records: list[AnyRecord] = []
    for name, update in updates.items():
        current = kraft_version if name == KRAFT_VERSION else _current_level(image, name)
        problem = _problem(image, name, update, current, node_id)
        if problem is None and name == METADATA_VERSION:
            problem = _check_metadata_version(current, update)
        elif problem is None and name == KRAFT_VERSION:
            problem = _check_kraft_version(current, update)
        elif problem is None:
            problem = missing_dependency({**proposed, name: update.level})
        if problem is not None:
            raise KafkaError(
                ErrorCode.INVALID_UPDATE_VERSION,
                problem
                if problem.startswith(("Invalid metadata.version", "Unsupported metadata.version"))
                else f"Invalid update version {update.level} for feature {name}. {problem}",
            )
        if name != KRAFT_VERSION:
            records.append(FeatureLevelRecord(name=name, feature_level=update.level))
    if not elr_enabled(image) and proposed.get(ELR_VERSION, 0) > 0:
        records += _elr_safety_records(image, settings)
    return ControllerResult(None, [] if validate_only else records)


def _current_level(image: MetadataImage, name: str) -> int:
    return image.metadata_version if name == METADATA_VERSION else image.features.get(name, 0)


def _problem(
    image: MetadataImage, name: str, update: FeatureUpdate, current: int, node_id: int
) -> str | None:
    """What is wrong with an update whatever the feature."""
    if update.upgrade_type not in tuple(UpgradeType)[1:]:
        return "The controller does not support the given upgrade type."
    if update.level < 0:
        return "A feature version cannot be less than 0."
    unsupported = _reason_not_supported(image, name, update.level, node_id)
    if unsupported is not None:
        return unsupported
    if update.level < current and update.upgrade_type == UpgradeType.UPGRADE:
        return (
            "Can't downgrade the version of this feature without setting the upgrade type to"
            " either safe or unsafe downgrade."
        )
    if update.level > current and update.upgrade_type != UpgradeType.UPGRADE:
        return "Can't downgrade to a newer version."
    return None


def _reason_not_supported(image: MetadataImage, name: str, level: int, node_id: int) -> str | None:
    nodes = [(f"Local controller {node_id}", SUPPORTED.get(name, (0, 0)))]
    nodes += [
        (f"Broker {broker.broker_id}", broker.features.get(name, (0, 0)))
        for broker in image.brokers.values()
    ]
    nodes += [
        (f"Controller {controller.controller_id}", controller.features.get(name, (0, 0)))
        for controller in image.controllers.values()
        if controller.controller_id != node_id
    ]
    for who, (low, high) in nodes:
        if not low <= level <= high:
            if high == 0:
                return f"{who} does not support this feature."
            return f"{who} only supports versions {low}-{high}"
    return None


def _check_metadata_version(current: int, update: FeatureUpdate) -> str | None:
    level = update.level
    if level not in METADATA_VERSIONS:
        return (
            f"Invalid metadata.version {level}. Valid versions are from"
            f" {OLDEST_METADATA_VERSION} to {LATEST_METADATA_VERSION}."
        )
    if level >= current or not metadata_changed_between(level, current):
        return None
    reason = "Refusing to perform the requested downgrade because it might delete metadata"
    reason += " information."
    if update.upgrade_type == UpgradeType.UNSAFE_DOWNGRADE:
        reason = "Unsafe metadata downgrade is not supported in this version."
    return f"Unsupported metadata.version downgrade from {current} to {level}. {reason}"


def _check_kraft_version(current: int, update: FeatureUpdate) -> str | None:
    if update.level == current:
        return None
    if update.level < current:
        return "Can't downgrade the version of this feature."
    return "Upgrading the quorum of a running cluster is not supported yet."


def _elr_safety_records(image: MetadataImage, settings: ControllerSettings) -> list[AnyRecord]:
    """Before eligible leader replicas begin, one `min.insync.replicas` must hold everywhere."""
    records: list[AnyRecord] = []
    if MIN_INSYNC_REPLICAS not in image.config(ConfigResource.BROKER, ""):
        records.append(
            ConfigRecord(
                resource_type=ConfigResource.BROKER,
                resource_name="",
                name=MIN_INSYNC_REPLICAS,
                value=str(settings.min_insync_replicas),
            )
        )
    for (kind, name), values in image.configs.items():
        if kind == ConfigResource.BROKER and name and MIN_INSYNC_REPLICAS in values:
            records.append(
                ConfigRecord(
                    resource_type=kind, resource_name=name, name=MIN_INSYNC_REPLICAS, value=None
                )
            )
    return records


def known_features() -> list[str]:
    """Every feature that can be named in an update."""
    return [METADATA_VERSION, *FEATURES]
