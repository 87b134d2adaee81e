"""From one image to the next."""

import pytest

from headrace.base.checks import InvariantBrokenError
from headrace.base.uuids import DIRECTORY_MIGRATING
from headrace.metadata import records as r
from headrace.metadata.delta import MetadataDelta
from headrace.metadata.image import EMPTY_IMAGE, MetadataImage
from headrace.metadata.record_codec import RECORD_TYPES
from tests.unit.metadata.samples import (
    TOPIC_A,
    TOPIC_B,
    broker_records,
    cluster,
    replayed,
    topic_records,
)


def test_every_record_type_can_be_replayed() -> None:
    from headrace.metadata import delta

    assert set(delta._REPLAYERS) == set(RECORD_TYPES.values())


def test_an_image_is_never_changed_by_what_follows() -> None:
    image = replayed([*broker_records(1), *topic_records(partitions=3)])
    before = repr(image)
    replayed(
        [
            r.PartitionChangeRecord(topic_id=TOPIC_A, partition_id=1, leader=-1),
            r.ConfigRecord(resource_type=2, resource_name="a", name="x", value="1"),
            r.BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=101, fenced=1),
            r.RemoveTopicRecord(topic_id=TOPIC_A),
        ],
        image,
    )
    assert repr(image) == before


def test_what_did_not_change_is_shared() -> None:
    image = replayed([*broker_records(1), *topic_records(), *topic_records("b", TOPIC_B)])
    after = replayed([r.PartitionChangeRecord(topic_id=TOPIC_A, partition_id=0, leader=-1)], image)
    assert after.topics_by_id[TOPIC_B] is image.topics_by_id[TOPIC_B]
    assert after.brokers is image.brokers
    assert after.configs is image.configs


def test_partitions_may_come_in_any_order() -> None:
    topic, *partitions = topic_records(partitions=4)
    image = replayed([topic, *reversed(partitions)])
    assert len(image.topics_by_name["a"].partitions) == 4


def test_a_missing_partition_is_a_broken_invariant() -> None:
    topic, first, second, third = topic_records(partitions=3)
    with pytest.raises(InvariantBrokenError, match="not number 1"):
        replayed([topic, first, third])
    del second


def test_a_leader_in_a_change_makes_a_new_leader_epoch() -> None:
    image = replayed(topic_records())
    image = replayed([r.PartitionChangeRecord(topic_id=TOPIC_A, partition_id=0, leader=1)], image)
    partition = image.topics_by_name["a"].partitions[0]
    assert (partition.leader, partition.leader_epoch, partition.partition_epoch) == (1, 1, 1)


def test_a_change_without_a_leader_keeps_the_leader_epoch() -> None:
    image = replayed(topic_records(replicas=(1, 2)))
    image = replayed([r.PartitionChangeRecord(topic_id=TOPIC_A, partition_id=0, isr=[1])], image)
    partition = image.topics_by_name["a"].partitions[0]
    assert (partition.isr, partition.leader_epoch, partition.partition_epoch) == ((1,), 0, 1)


def test_old_records_without_directories_are_marked_as_migrating() -> None:
    image = replayed(
        [
            r.TopicRecord(name="a", topic_id=TOPIC_A),
            r.PartitionRecord(partition_id=0, topic_id=TOPIC_A, replicas=[1, 2], isr=[1, 2]),
        ]
    )
    assert image.topics_by_name["a"].partitions[0].directories == (DIRECTORY_MIGRATING,) * 2


def test_a_removed_topic_takes_its_settings_along() -> None:
    image = replayed(
        [
            *topic_records(),
            r.ConfigRecord(resource_type=2, resource_name="a", name="retention.ms", value="1"),
            r.ConfigRecord(resource_type=32, resource_name="a", name="x", value="1"),
        ]
    )
    image = replayed([r.RemoveTopicRecord(topic_id=TOPIC_A)], image)
    assert not image.topics_by_name
    assert not image.topics_by_id
    assert list(image.configs) == [(32, "a")]


def test_a_topic_may_be_deleted_and_made_again_in_one_go() -> None:
    image = replayed(topic_records())
    delta = MetadataDelta(image)
    delta.replay(r.RemoveTopicRecord(topic_id=TOPIC_A))
    for record in topic_records("a", TOPIC_B, partitions=2):
        delta.replay(record)
    after, changes = delta.apply(offset=9, epoch=1, timestamp_ms=0)
    assert after.topics_by_name["a"].topic_id == TOPIC_B
    assert list(after.topics_by_id) == [TOPIC_B]
    assert [topic.topic_id for topic in changes.topics_deleted] == [TOPIC_A]
    assert [topic.topic_id for topic in changes.topics_created] == [TOPIC_B]
    assert list(changes.topics) == [TOPIC_A, TOPIC_B]


def test_changes_name_the_partitions_that_differ() -> None:
    image = replayed(topic_records(partitions=5))
    delta = MetadataDelta(image)
    for index in (3, 1):
        delta.replay(r.PartitionChangeRecord(topic_id=TOPIC_A, partition_id=index, leader=-1))
    _, changes = delta.apply(offset=9, epoch=1, timestamp_ms=0)
    change = changes.topics[TOPIC_A]
    assert change.partitions == (1, 3)
    assert change.before is image.topics_by_id[TOPIC_A]
    assert not changes.topics_created
    assert changes


def test_records_without_effect_change_nothing() -> None:
    delta = MetadataDelta(EMPTY_IMAGE)
    delta.replay(r.NoOpRecord())
    image, changes = delta.apply(offset=7, epoch=3, timestamp_ms=11)
    assert not changes
    assert image == MetadataImage(offset=7, epoch=3, timestamp_ms=11)


def test_a_registration_change_touches_only_what_it_names() -> None:
    image = cluster(1)
    image = replayed(
        [
            r.BrokerRegistrationChangeRecord(
                broker_id=1, broker_epoch=101, in_controlled_shutdown=1
            ),
            r.BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=101, cordoned_log_dirs=[]),
        ],
        image,
    )
    broker = image.brokers[1]
    assert not broker.fenced
    assert broker.in_controlled_shutdown
    assert not broker.is_active
    assert broker.cordoned_directories == ()


def test_a_record_for_another_epoch_of_a_broker_is_a_broken_invariant() -> None:
    with pytest.raises(InvariantBrokenError, match="epoch 7"):
        replayed([r.FenceBrokerRecord(id=1, epoch=7)], cluster(1))


def test_fence_and_unfence_records_of_old_clusters_count() -> None:
    image = replayed([r.FenceBrokerRecord(id=1, epoch=101)], cluster(1))
    assert image.brokers[1].fenced
    image = replayed([r.UnfenceBrokerRecord(id=1, epoch=101)], image)
    assert not image.brokers[1].fenced


def test_an_unregistered_broker_is_gone() -> None:
    image = replayed([r.UnregisterBrokerRecord(broker_id=1, broker_epoch=101)], cluster(1, 2))
    assert list(image.brokers) == [2]


def test_a_setting_without_value_is_deleted_and_an_empty_resource_with_it() -> None:
    def setting(name: str, value: str | None) -> r.ConfigRecord:
        return r.ConfigRecord(resource_type=4, resource_name="", name=name, value=value)

    image = replayed([setting("a", "1"), setting("b", "2"), setting("a", None)])
    assert image.config(4, "") == {"b": "2"}
    assert not replayed([setting("b", None)], image).configs


def test_quotas_are_kept_by_entity_whatever_the_order_of_its_parts() -> None:
    user = r.EntityData(entity_type="user", entity_name="u")
    client = r.EntityData(entity_type="client-id", entity_name=None)

    def quota(*entity: r.EntityData, remove: bool = False) -> r.ClientQuotaRecord:
        return r.ClientQuotaRecord(
            entity=list(entity), key="producer_byte_rate", value=5.0, remove=remove
        )

    image = replayed([quota(user, client)])
    assert image.quotas == {
        (("client-id", None), ("user", "u")): {"producer_byte_rate": 5.0},
    }
    assert not replayed([quota(client, user, remove=True)], image).quotas


def test_level_0_removes_a_feature() -> None:
    image = replayed([r.FeatureLevelRecord(name="group.version", feature_level=0)], cluster(1))
    assert "group.version" not in image.features
    assert image.metadata_version == 30


@pytest.mark.parametrize("name", ["a", ""])
def test_clearing_the_elr_bumps_only_partitions_that_have_one(name: str) -> None:
    image = replayed(topic_records(partitions=2, replicas=(1, 2)))
    image = replayed(
        [
            r.PartitionChangeRecord(
                topic_id=TOPIC_A,
                partition_id=0,
                isr=[1],
                eligible_leader_replicas=[2],
                last_known_elr=[2],
            )
        ],
        image,
    )
    image = replayed([r.ClearElrRecord(topic_name=name)], image)
    first, second = image.topics_by_name["a"].partitions
    assert (first.elr, first.last_known_elr, first.partition_epoch) == ((), (), 2)
    assert second.partition_epoch == 0


def test_security_records_come_and_go() -> None:
    image = replayed(
        [
            r.AccessControlEntryRecord(id=TOPIC_A, resource_name="t", principal="User:x"),
            r.UserScramCredentialRecord(name="u", mechanism=1, salt=b"s", iterations=4096),
            r.DelegationTokenRecord(token_id="t", owner="User:x", renewers=["User:y"]),
            r.ProducerIdsRecord(broker_id=1, next_producer_id=1000),
        ]
    )
    assert image.acls[TOPIC_A].principal == "User:x"
    assert image.scram["u", 1].iterations == 4096
    assert image.tokens["t"].renewers == ("User:y",)
    assert image.next_producer_id == 1000
    image = replayed(
        [
            r.RemoveAccessControlEntryRecord(id=TOPIC_A),
            r.RemoveUserScramCredentialRecord(name="u", mechanism=1),
            r.RemoveDelegationTokenRecord(token_id="t"),
        ],
        image,
    )
    assert not image.acls
    assert not image.scram
    assert not image.tokens
