"""Metadata: brokers, topics by name and by id, and topics that come into being on first use."""

from pathlib import Path
from typing import Any

import pytest

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.uuids import DIRECTORY_LOST
from headrace.broker.authorization import CLUSTER_NAME, Operation, ResourceType
from headrace.metadata import records as r
from headrace.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponseTopic,
)
from tests.unit.broker.fakes import NODE_ID, DenyAll
from tests.unit.broker.harness import Broker

TOPIC = ResourceType.TOPIC
CLUSTER = ResourceType.CLUSTER
ALL_TOPIC_OPERATIONS = sum(1 << code for code in (3, 4, 5, 6, 7, 8, 10, 11))
ALL_CLUSTER_OPERATIONS = sum(1 << code for code in (5, 7, 8, 9, 10, 11, 12))
NOT_ASKED = -(2**31)


def named(*names: str | None, **options: Any) -> MetadataRequest:
    options.setdefault("allow_auto_topic_creation", False)
    return MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in names], **options)


def identified(*topic_ids: bytes) -> MetadataRequest:
    topics = [MetadataRequestTopic(name=None, topic_id=topic_id) for topic_id in topic_ids]
    return MetadataRequest(topics=topics, allow_auto_topic_creation=False)


def one_topic(broker: Broker, request: MetadataRequest, version: int = 13) -> MetadataResponseTopic:
    (topic,) = broker.ask(request, version).topics
    found: MetadataResponseTopic = topic
    return found


# Brokers


@pytest.mark.parametrize("version", range(14))
def test_every_version_tells_the_broker_under_the_address_that_was_reached(
    broker: Broker, version: int
) -> None:
    broker.create_topic("t", 2)
    response = broker.ask(named("t"), version)
    (node,) = response.brokers
    assert (node.node_id, node.host, node.port) == (NODE_ID, "10.0.0.1", 9092)
    assert node.rack == ("r1" if version >= 1 else None)
    if version >= 1:
        assert response.controller_id == NODE_ID
    (topic,) = response.topics
    assert (topic.name, topic.error_code, len(topic.partitions)) == ("t", 0, 2)


def test_an_advertised_address_is_told_instead(tmp_path: Path) -> None:
    overrides = {"advertised.listeners": "PLAINTEXT://broker.example.com:19092"}
    broker = Broker(tmp_path, overrides=overrides)
    (node,) = broker.ask(named()).brokers
    assert (node.host, node.port) == ("broker.example.com", 19092)
    broker.close()


def test_a_fenced_broker_is_not_told_and_leads_nothing(broker: Broker) -> None:
    broker.create_topic("t")
    broker.plane.apply(
        [r.BrokerRegistrationChangeRecord(broker_id=NODE_ID, broker_epoch=7, fenced=1)]
    )
    response = broker.ask(named("t"))
    assert (response.brokers, response.controller_id) == ([], -1)
    (partition,) = response.topics[0].partitions
    assert (partition.error_code, partition.leader_id) == (ErrorCode.LEADER_NOT_AVAILABLE, -1)
    assert partition.offline_replicas == [NODE_ID]


def test_a_replica_whose_directory_failed_is_offline(broker: Broker) -> None:
    topic_id = broker.create_topic("t", 2)
    broker.plane.apply(
        [r.PartitionChangeRecord(topic_id=topic_id, partition_id=1, directories=[DIRECTORY_LOST])]
    )
    sound, lost = one_topic(broker, named("t")).partitions
    assert (sound.offline_replicas, lost.offline_replicas) == ([], [NODE_ID])


# All topics


def test_null_asks_for_all_topics_and_an_empty_list_for_none(broker: Broker) -> None:
    for name in ("a", "b"):
        broker.create_topic(name)
    everything = broker.ask(MetadataRequest(topics=None))
    assert sorted(topic.name for topic in everything.topics) == ["a", "b"]
    assert broker.ask(named()).topics == []


def test_in_version_0_an_empty_list_asks_for_all(broker: Broker) -> None:
    broker.create_topic("a")
    assert [topic.name for topic in broker.ask(named(), 0).topics] == ["a"]


def test_internal_topics_are_marked(broker: Broker) -> None:
    broker.create_topic("__consumer_offsets")
    broker.create_topic("t")
    topics = {
        topic.name: topic.is_internal for topic in broker.ask(MetadataRequest(topics=None)).topics
    }
    assert topics == {"__consumer_offsets": True, "t": False}


# Names and ids


def test_a_topic_is_found_by_its_id(broker: Broker) -> None:
    topic_id = broker.create_topic("t")
    topic = one_topic(broker, identified(topic_id))
    assert (topic.name, topic.topic_id, topic.error_code) == ("t", topic_id, 0)


def test_an_unknown_id_is_said_to_be_unknown(broker: Broker) -> None:
    topic = one_topic(broker, identified(b"\x07" * 16))
    assert (topic.name, topic.topic_id) == (None, b"\x07" * 16)
    assert topic.error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_an_unknown_name_is_said_to_be_unknown(broker: Broker) -> None:
    topic = one_topic(broker, named("nowhere"))
    assert (topic.name, topic.error_code) == ("nowhere", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert (topic.topic_id, topic.partitions) == (bytes(16), [])


@pytest.mark.parametrize("name", ["", ".", "..", "a b", "ü", "x" * 250, "a/b", "a\0b"])
def test_a_name_that_no_topic_can_have_is_invalid_and_never_created(
    broker: Broker, name: str
) -> None:
    topic = one_topic(broker, named(name, allow_auto_topic_creation=True))
    assert (topic.name, topic.error_code) == (name, ErrorCode.INVALID_TOPIC_EXCEPTION)
    assert broker.plane.image.topics_by_name == {}


def test_a_topic_asked_for_twice_is_told_once(broker: Broker) -> None:
    broker.create_topic("t")
    assert [topic.name for topic in broker.ask(named("t", "t", "u", "u")).topics] == ["t", "u"]


@pytest.mark.parametrize("version", [10, 11])
def test_ids_cannot_be_used_before_version_12(broker: Broker, version: int) -> None:
    topic_id = broker.create_topic("t")
    request = MetadataRequest(topics=[MetadataRequestTopic(name="t", topic_id=topic_id)])
    topic = one_topic(broker, request, version)
    assert topic.error_code == ErrorCode.INVALID_REQUEST
    nameless = one_topic(broker, identified(topic_id), version)
    assert (nameless.name, nameless.error_code) == ("", ErrorCode.INVALID_REQUEST)


# Creating


def test_a_topic_comes_into_being_when_it_is_asked_for(tmp_path: Path) -> None:
    broker = Broker(tmp_path, overrides={"num.partitions": "3"})
    topic = one_topic(broker, named("fresh", allow_auto_topic_creation=True))
    assert (topic.name, topic.error_code, len(topic.partitions)) == ("fresh", 0, 3)
    assert [partition.leader_id for partition in topic.partitions] == [NODE_ID] * 3
    assert len(broker.partitions.named("fresh")) == 3
    broker.close()


def test_nothing_is_created_where_the_client_or_the_broker_does_not_want_it(
    tmp_path: Path,
) -> None:
    broker = Broker(tmp_path, overrides={"auto.create.topics.enable": "false"})
    topic = one_topic(broker, named("fresh", allow_auto_topic_creation=True))
    assert topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    broker.close()


def test_asking_for_all_topics_creates_none(broker: Broker) -> None:
    broker.ask(MetadataRequest(topics=None, allow_auto_topic_creation=True))
    assert broker.plane.image.topics_by_name == {}


def test_a_topic_that_cannot_be_created_tells_why(broker: Broker) -> None:
    broker.create_topic("a.b")
    topic = one_topic(broker, named("a_b", allow_auto_topic_creation=True))
    assert topic.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION


def test_a_controller_that_refuses_is_heard_of(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(command: Any, done: Any) -> None:
        done(KafkaError(ErrorCode.NOT_CONTROLLER))

    monkeypatch.setattr(broker.plane, "submit", refuse)
    topic = one_topic(broker, named("fresh", allow_auto_topic_creation=True))
    assert topic.error_code == ErrorCode.NOT_CONTROLLER


def test_existing_and_new_topics_are_told_together(broker: Broker) -> None:
    broker.create_topic("old")
    response = broker.ask(named("old", "new", "not valid", allow_auto_topic_creation=True))
    assert [(topic.name, topic.error_code) for topic in response.topics] == [
        ("old", ErrorCode.NONE),
        ("new", ErrorCode.NONE),
        ("not valid", ErrorCode.INVALID_TOPIC_EXCEPTION),
    ]


# Access


def limited(tmp_path: Path, *allowed: tuple[Operation, ResourceType, str]) -> Broker:
    broker = Broker(tmp_path, authorizer=DenyAll(*allowed))
    broker.create_topic("seen")
    broker.create_topic("hidden")
    return broker


def test_hidden_topics_are_not_listed(tmp_path: Path) -> None:
    broker = limited(tmp_path, (Operation.DESCRIBE, TOPIC, "seen"))
    listed = broker.ask(MetadataRequest(topics=None)).topics
    assert [topic.name for topic in listed] == ["seen"]
    broker.close()


def test_whether_a_hidden_topic_exists_is_not_told(tmp_path: Path) -> None:
    broker = limited(tmp_path, (Operation.DESCRIBE, TOPIC, "seen"))
    response = broker.ask(named("seen", "hidden", "nowhere", allow_auto_topic_creation=True))
    refused = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert [(t.name, t.topic_id == bytes(16), t.error_code) for t in response.topics] == [
        ("seen", False, ErrorCode.NONE),
        ("hidden", True, refused),
        ("nowhere", True, refused),
    ]
    broker.close()


def test_a_hidden_topic_is_hidden_under_its_id_too(tmp_path: Path) -> None:
    broker = limited(tmp_path)
    hidden = broker.plane.image.topics_by_name["hidden"].topic_id
    topic = one_topic(broker, identified(hidden))
    assert (topic.name, topic.topic_id) == (None, hidden)
    assert topic.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    broker.close()


@pytest.mark.parametrize(
    ("allowed", "created"),
    [
        ((Operation.CREATE, TOPIC, "fresh"), True),
        ((Operation.CREATE, CLUSTER, CLUSTER_NAME), True),
        ((Operation.CREATE, TOPIC, "other"), False),
    ],
)
def test_creating_needs_the_right_to_create(
    tmp_path: Path, allowed: tuple[Operation, ResourceType, str], created: bool
) -> None:
    broker = limited(tmp_path, (Operation.DESCRIBE, TOPIC, "fresh"), allowed)
    topic = one_topic(broker, named("fresh", allow_auto_topic_creation=True))
    refused = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert topic.error_code == (ErrorCode.NONE if created else refused)
    assert ("fresh" in broker.plane.image.topics_by_name) == created
    broker.close()


def test_the_right_to_create_is_no_right_to_see(tmp_path: Path) -> None:
    broker = limited(tmp_path, (Operation.CREATE, TOPIC, "fresh"))
    topic = one_topic(broker, named("fresh", allow_auto_topic_creation=True))
    assert topic.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert "fresh" not in broker.plane.image.topics_by_name
    broker.close()


def test_allowed_operations_are_told_where_they_are_asked_for(broker: Broker) -> None:
    broker.create_topic("t")
    plain = broker.ask(named("t"), 10)
    assert plain.cluster_authorized_operations == NOT_ASKED
    assert plain.topics[0].topic_authorized_operations == NOT_ASKED
    asked = named(
        "t",
        include_cluster_authorized_operations=True,
        include_topic_authorized_operations=True,
    )
    response = broker.ask(asked, 10)
    assert response.cluster_authorized_operations == ALL_CLUSTER_OPERATIONS
    assert response.topics[0].topic_authorized_operations == ALL_TOPIC_OPERATIONS


def test_operations_on_the_cluster_are_told_to_those_who_may_describe_it(tmp_path: Path) -> None:
    broker = limited(tmp_path, (Operation.ALTER, CLUSTER, CLUSTER_NAME))
    asked = named(include_cluster_authorized_operations=True)
    assert broker.ask(asked, 10).cluster_authorized_operations == 0
    broker.close()
