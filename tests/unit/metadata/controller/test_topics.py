"""Creating, deleting and growing topics."""

from collections.abc import Mapping

import pytest

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.uuids import DIRECTORY_UNASSIGNED
from headrace.metadata import records as r
from headrace.metadata.controller.partitions import create_partitions
from headrace.metadata.controller.settings import ControllerSettings
from headrace.metadata.controller.topics import create_topics, delete_topics
from headrace.metadata.image import MetadataImage
from headrace.protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsTopic,
)
from headrace.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicResult,
)
from tests.unit.metadata.samples import (
    TOPIC_A,
    broker_records,
    cluster,
    feature_records,
    replayed,
    topic_records,
)

SETTINGS = ControllerSettings(num_partitions=3, default_replication_factor=1)


def topic(name: str = "a", partitions: int = 1, factor: int = 1, **configs: str) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=factor,
        configs=[
            CreatableTopicConfig(name=key.replace("_", "."), value=value)
            for key, value in configs.items()
        ],
    )


def assigned(name: str, *replicas: list[int], first: int = 0) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=-1,
        replication_factor=-1,
        assignments=[
            CreatableReplicaAssignment(partition_index=index, broker_ids=brokers)
            for index, brokers in enumerate(replicas, start=first)
        ],
    )


def create(
    image: MetadataImage, request: CreatableTopic, settings: ControllerSettings = SETTINGS
) -> tuple[MetadataImage, CreatableTopicResult]:
    result = create_topics(image, settings, [request])
    return replayed(result.records, image), result.reply[0]


def error(image: MetadataImage, request: CreatableTopic) -> tuple[int, str | None]:
    result = create_topics(image, SETTINGS, [request])
    assert result.records == []
    return result.reply[0].error_code, result.reply[0].error_message


def test_a_topic_has_its_settings_before_its_partitions() -> None:
    result = create_topics(cluster(1), SETTINGS, [topic("a", 2, retention_ms="5")])
    assert [type(record) for record in result.records] == [
        r.TopicRecord,
        r.ConfigRecord,
        r.PartitionRecord,
        r.PartitionRecord,
    ]
    reply = result.reply[0]
    assert (reply.error_code, reply.num_partitions, reply.replication_factor) == (0, 2, 1)


def test_new_partitions_are_led_by_their_first_replica_and_lie_in_its_only_directory() -> None:
    image = cluster(1)
    image, reply = create(image, topic())
    partition = image.topics_by_id[reply.topic_id].partitions[0]
    assert (partition.leader, partition.isr, partition.leader_epoch) == (1, (1,), 0)
    assert partition.directories == image.brokers[1].directories


def test_a_broker_with_several_directories_chooses_itself() -> None:
    directories = [b"1" * 16, b"2" * 16]
    image = replayed([*feature_records(), *broker_records(1, directories=directories)])
    image, _ = create(image, topic())
    assert image.topics_by_name["a"].partitions[0].directories == (DIRECTORY_UNASSIGNED,)


def test_minus_one_means_the_defaults() -> None:
    image, reply = create(cluster(1), topic("a", -1, -1))
    assert len(image.topics_by_name["a"].partitions) == 3
    assert reply.replication_factor == 1


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "the empty string is not allowed"),
        (".", "'.' is not allowed"),
        ("..", "'..' is not allowed"),
        ("a" * 250, "longer than the max allowed length 249"),
        ("a b", "contains one or more characters other than"),
        ("ä", "contains one or more characters other than"),
        ("a\n", "contains one or more characters other than"),
    ],
)
def test_bad_names(name: str, reason: str) -> None:
    code, message = error(cluster(1), topic(name))
    assert code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert message is not None
    assert message.startswith("Topic name is invalid: ")
    assert reason in message


def test_an_existing_name() -> None:
    image = replayed(topic_records("a.b"), cluster(1))
    assert error(image, topic("a.b")) == (
        ErrorCode.TOPIC_ALREADY_EXISTS,
        "Topic 'a.b' already exists.",
    )


@pytest.mark.parametrize(
    ("old", "new"), [("a.b", "a_b"), ("a_b_c", "a.b_c"), ("x" + "_y" * 10, "x" + ".y" * 10)]
)
def test_dots_and_underscores_collide(old: str, new: str) -> None:
    image = replayed(topic_records(old), cluster(1))
    assert error(image, topic(new)) == (
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        f"Topic '{new}' collides with existing topic: {old}",
    )


@pytest.mark.parametrize(
    ("request_", "code", "message"),
    [
        (
            topic("a", 0),
            ErrorCode.INVALID_PARTITIONS,
            "Number of partitions was set to an invalid non-positive value.",
        ),
        (
            topic("a", 1, 0),
            ErrorCode.INVALID_REPLICATION_FACTOR,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        ),
        (
            topic("a", 1, 2),
            ErrorCode.INVALID_REPLICATION_FACTOR,
            (
                "Unable to replicate the partition 2 time(s): The target replication factor of 2"
                " cannot be reached because only 1 broker(s) are registered or some brokers"
                " have all their log directories cordoned."
            ),
        ),
        (
            assigned("a", [2]),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "The manual partition assignment includes broker 2, but no such broker is registered.",
        ),
        (
            assigned("a", [1, 1]),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "The manual partition assignment includes the broker 1 more than once.",
        ),
        (
            assigned("a", []),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "The manual partition assignment includes an empty replica list.",
        ),
        (
            assigned("a", [1], first=1),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "partitions should be a consecutive 0-based integer sequence",
        ),
    ],
)
def test_impossible_partitions(request_: CreatableTopic, code: int, message: str) -> None:
    assert error(cluster(1), request_) == (code, message)


def test_an_assignment_excludes_counts() -> None:
    request = assigned("a", [1])
    request.num_partitions = 1
    code, message = error(cluster(1), request)
    assert code == ErrorCode.INVALID_REQUEST
    assert message == (
        "A manual partition assignment was specified, but numPartitions was not set to -1."
    )


def test_all_partitions_of_an_assignment_have_as_many_replicas() -> None:
    code, message = error(cluster(1, 2), assigned("a", [1, 2], [1]))
    assert code == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert "a partition with 1 replica(s)" in (message or "")


def test_an_assignment_is_taken_as_it_is_and_fenced_brokers_are_not_in_sync() -> None:
    image = replayed(broker_records(3, fenced=True), cluster(1, 2))
    image, _ = create(image, assigned("a", [3, 2], [2, 1]))
    first, second = image.topics_by_name["a"].partitions
    assert (first.replicas, first.isr, first.leader) == ((3, 2), (2,), 2)
    assert (second.replicas, second.leader) == ((2, 1), 2)


def test_nobody_in_service_means_no_topic() -> None:
    image = replayed(broker_records(1, fenced=True), replayed(feature_records()))
    assert error(image, topic())[0] == ErrorCode.INVALID_REPLICATION_FACTOR
    assert error(image, assigned("a", [1]))[0] == ErrorCode.INVALID_REPLICA_ASSIGNMENT


def test_where_all_directories_are_cordoned_nothing_new_is_made() -> None:
    image = replayed(topic_records("old"), cluster(1))
    broker = image.brokers[1]
    cordoned = r.BrokerRegistrationChangeRecord(
        broker_id=1, broker_epoch=broker.epoch, cordoned_log_dirs=list(broker.directories)
    )
    image = replayed([cordoned], image)
    reason = "All brokers are currently fenced, or have all their log directories cordoned."
    assert error(image, topic("new")) == (
        ErrorCode.INVALID_REPLICATION_FACTOR,
        f"Unable to replicate the partition 1 time(s): {reason}",
    )
    more = CreatePartitionsTopic(name="old", count=2, assignments=None)
    (reply,) = create_partitions(image, SETTINGS, [more]).reply
    assert (reply.error_code, reply.error_message) == (
        ErrorCode.INVALID_REPLICATION_FACTOR,
        reason,
    )
    # Whoever names the broker gets what was asked for, as with Kafka.
    image, created = create(image, assigned("new", [1]))
    assert created.error_code == 0


def test_settings_are_checked_and_named() -> None:
    def check(name: str, settings: Mapping[str, str], image: MetadataImage) -> None:
        assert name == "a"
        if "bad" in settings:
            raise KafkaError(ErrorCode.INVALID_CONFIG, "Unknown topic config name: bad")

    settings = ControllerSettings(config_checks={2: check})
    result = create_topics(cluster(1), settings, [topic("a", bad="1")])
    assert result.reply[0].error_code == ErrorCode.INVALID_CONFIG
    assert result.reply[0].error_message == "Unknown topic config name: bad"


def test_a_setting_without_a_value_is_refused() -> None:
    request = topic()
    request.configs = [CreatableTopicConfig(name="retention.ms", value=None)]
    assert error(cluster(1), request) == (
        ErrorCode.INVALID_CONFIG,
        "Null value not supported for topic configs: retention.ms",
    )


def test_validate_only_answers_the_same_and_writes_nothing() -> None:
    result = create_topics(cluster(1), SETTINGS, [topic("a", 2), topic("b", 0)], validate_only=True)
    assert result.records == []
    assert [one.error_code for one in result.reply] == [0, ErrorCode.INVALID_PARTITIONS]


def test_one_bad_topic_does_not_hinder_the_others() -> None:
    result = create_topics(cluster(1), SETTINGS, [topic("a b"), topic("c")])
    assert [one.error_code for one in result.reply] == [ErrorCode.INVALID_TOPIC_EXCEPTION, 0]
    assert list(replayed(result.records, cluster(1)).topics_by_name) == ["c"]


def test_too_many_partitions_in_one_request() -> None:
    with pytest.raises(KafkaError, match="Excessively large") as raised:
        create_topics(cluster(1), SETTINGS, [topic("a", 6000), topic("b", 6000)])
    assert raised.value.code == ErrorCode.POLICY_VIOLATION


def test_deleting_by_id() -> None:
    image = replayed(topic_records(), cluster(1))
    result = delete_topics(image, [TOPIC_A, b"?" * 16, TOPIC_A])
    assert result.reply[TOPIC_A] is None
    unknown = result.reply[b"?" * 16]
    assert unknown is not None
    assert unknown.code == ErrorCode.UNKNOWN_TOPIC_ID
    assert result.records == [r.RemoveTopicRecord(topic_id=TOPIC_A)]


def grow(image: MetadataImage, count: int, *replicas: list[int]) -> tuple[int, str | None]:
    request = CreatePartitionsTopic(
        name="a",
        count=count,
        assignments=[CreatePartitionsAssignment(broker_ids=one) for one in replicas] or None,
    )
    result = create_partitions(image, SETTINGS, [request])
    reply = result.reply[0]
    assert bool(result.records) == (reply.error_code == 0)
    return reply.error_code, reply.error_message


def test_growing_a_topic_keeps_its_replication_factor() -> None:
    image = replayed(topic_records(replicas=(1, 2)), cluster(1, 2))
    request = CreatePartitionsTopic(name="a", count=3, assignments=None)
    image = replayed(create_partitions(image, SETTINGS, [request]).records, image)
    assert [len(p.replicas) for p in image.topics_by_name["a"].partitions] == [2, 2, 2]


def test_growing_to_what_it_has_or_less() -> None:
    image = replayed(topic_records(partitions=2), cluster(1))
    assert grow(image, 2) == (ErrorCode.INVALID_PARTITIONS, "Topic already has 2 partition(s).")
    assert grow(image, 1) == (
        ErrorCode.INVALID_PARTITIONS,
        "The topic a currently has 2 partition(s); 1 would not be an increase.",
    )


def test_growing_an_unknown_topic() -> None:
    assert grow(cluster(1), 2)[0] == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_growing_with_assignments() -> None:
    image = replayed(topic_records(), cluster(1, 2))
    assert grow(image, 3, [2], [1]) == (0, None)
    assert grow(image, 3, [2])[1] == (
        "Attempted to add 2 additional partition(s), but only 1 assignment(s) were specified."
    )
    assert grow(image, 2, [1, 2])[0] == ErrorCode.INVALID_REPLICA_ASSIGNMENT


def test_growing_for_validation_only() -> None:
    image = replayed(topic_records(), cluster(1))
    request = CreatePartitionsTopic(name="a", count=3, assignments=None)
    result = create_partitions(image, SETTINGS, [request], validate_only=True)
    assert (result.records, result.reply[0].error_code) == ([], 0)
