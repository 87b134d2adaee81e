"""Feature levels."""

import pytest

from headrace.base.errors import ErrorCode, KafkaError
from headrace.metadata import records as r
from headrace.metadata.controller.features import FeatureUpdate, UpgradeType, update_features
from headrace.metadata.controller.settings import ControllerSettings
from headrace.metadata.image import MetadataImage
from tests.unit.metadata.samples import broker_records, cluster, replayed

SETTINGS = ControllerSettings(min_insync_replicas=2)


def at_level(level: int, **features: int) -> MetadataImage:
    return replayed(
        [
            r.FeatureLevelRecord(name="metadata.version", feature_level=level),
            *(
                r.FeatureLevelRecord(name=name.replace("_", "."), feature_level=value)
                for name, value in features.items()
            ),
            *broker_records(1),
        ]
    )


def update(
    image: MetadataImage, name: str, level: int, kind: int = UpgradeType.UPGRADE
) -> list[object]:
    updates = {name: FeatureUpdate(level, kind)}
    return list(update_features(image, SETTINGS, updates, node_id=1).records)


def refusal(image: MetadataImage, name: str, level: int, kind: int = UpgradeType.UPGRADE) -> str:
    with pytest.raises(KafkaError) as raised:
        update(image, name, level, kind)
    assert raised.value.code == ErrorCode.INVALID_UPDATE_VERSION
    return raised.value.message


def test_an_upgrade() -> None:
    assert update(at_level(29), "metadata.version", 30) == [
        r.FeatureLevelRecord(name="metadata.version", feature_level=30)
    ]


def test_a_dry_run_writes_nothing() -> None:
    updates = {"metadata.version": FeatureUpdate(30)}
    result = update_features(at_level(29), SETTINGS, updates, node_id=1, validate_only=True)
    assert result.records == []


def test_unknown_features_and_levels() -> None:
    image = cluster(1)
    assert refusal(image, "no.such.version", 1) == (
        "Invalid update version 1 for feature no.such.version. Local controller 1 does not support"
        " this feature."
    )
    assert refusal(image, "metadata.version", 31) == (
        "Invalid update version 31 for feature metadata.version. Local controller 1 only supports"
        " versions 7-30"
    )
    assert "cannot be less than 0" in refusal(image, "group.version", -1)
    assert "upgrade type" in refusal(image, "group.version", 0, 9)


def test_a_downgrade_must_be_asked_for() -> None:
    image = cluster(1)
    assert "without setting the upgrade type" in refusal(image, "group.version", 0)
    assert update(image, "group.version", 0, UpgradeType.SAFE_DOWNGRADE) == [
        r.FeatureLevelRecord(name="group.version", feature_level=0)
    ]


def test_a_downgrade_does_not_go_up() -> None:
    image = at_level(24)
    message = refusal(image, "metadata.version", 26, UpgradeType.SAFE_DOWNGRADE)
    assert message.endswith("Can't downgrade to a newer version.")


def test_a_downgrade_that_could_lose_metadata_is_refused() -> None:
    image = cluster(1)
    assert refusal(image, "metadata.version", 29, UpgradeType.SAFE_DOWNGRADE) == (
        "Unsupported metadata.version downgrade from 30 to 29. Refusing to perform the requested"
        " downgrade because it might delete metadata information."
    )
    assert refusal(image, "metadata.version", 29, UpgradeType.UNSAFE_DOWNGRADE) == (
        "Unsupported metadata.version downgrade from 30 to 29. Unsafe metadata downgrade is not"
        " supported in this version."
    )


def test_a_harmless_downgrade_is_done() -> None:
    assert update(at_level(29), "metadata.version", 24, UpgradeType.SAFE_DOWNGRADE) == [
        r.FeatureLevelRecord(name="metadata.version", feature_level=24)
    ]


def test_a_broker_that_cannot_stops_the_upgrade() -> None:
    old = r.RegisterBrokerRecord(
        broker_id=2,
        broker_epoch=9,
        features=[
            r.BrokerFeature(
                name="metadata.version", min_supported_version=7, max_supported_version=29
            )
        ],
    )
    image = replayed([old], at_level(29))
    assert refusal(image, "metadata.version", 30).endswith("Broker 2 only supports versions 7-29")


def test_features_depend_on_the_metadata_version() -> None:
    assert "depends on metadata.version" in refusal(
        at_level(22), "eligible.leader.replicas.version", 1
    )


def test_both_may_go_up_in_one_request() -> None:
    updates = {
        "metadata.version": FeatureUpdate(26),
        "eligible.leader.replicas.version": FeatureUpdate(1),
    }
    records = update_features(at_level(22), SETTINGS, updates, node_id=1).records
    assert len(records) == 3


def test_eligible_leader_replicas_bring_one_minimum_for_all() -> None:
    image = replayed(
        [r.ConfigRecord(resource_type=4, resource_name="1", name="min.insync.replicas", value="3")],
        at_level(26),
    )
    records = update(image, "eligible.leader.replicas.version", 1)
    assert records[1:] == [
        r.ConfigRecord(resource_type=4, resource_name="", name="min.insync.replicas", value="2"),
        r.ConfigRecord(resource_type=4, resource_name="1", name="min.insync.replicas", value=None),
    ]


def test_all_updates_or_none() -> None:
    updates = {"group.version": FeatureUpdate(1), "transaction.version": FeatureUpdate(9)}
    with pytest.raises(KafkaError):
        update_features(at_level(30), SETTINGS, updates, node_id=1)
