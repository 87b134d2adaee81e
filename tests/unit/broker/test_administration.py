"""CreateTopics, DeleteTopics, CreatePartitions, AlterConfigs and InitProducerId at the broker."""

from pathlib import Path
from typing import Any

import pytest

from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker.authorization import CLUSTER_NAME, Operation, ResourceType
from headrace.broker.producer_ids import ProducerIds
from headrace.metadata.image import ConfigResource
from headrace.protocol.messages import alter_configs, incremental_alter_configs
from headrace.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from headrace.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from headrace.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from headrace.protocol.messages.init_producer_id import InitProducerIdRequest
from tests.unit.broker.batches import batch, produce
from tests.unit.broker.fakes import DenyAll
from tests.unit.broker.harness import Broker

TOPIC = ResourceType.TOPIC


def topic(name: str, partitions: int = 1, **configs: str) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=1,
        configs=[
            CreatableTopicConfig(name=key.replace("_", "."), value=value)
            for key, value in configs.items()
        ],
    )


def create(broker: Broker, *topics: CreatableTopic, version: int = 7, **options: Any) -> list[Any]:
    request = CreateTopicsRequest(topics=list(topics), timeout_ms=1_000, **options)
    results: list[Any] = broker.ask(request, version).topics
    return results


# CreateTopics


@pytest.mark.parametrize("version", range(2, 8))
def test_a_topic_is_there_when_the_answer_is(broker: Broker, version: int) -> None:
    (result,) = create(broker, topic("t", 3, retention_ms="1000"), version=version)
    assert (result.name, result.error_code) == ("t", ErrorCode.NONE)
    assert len(broker.partitions.named("t")) == 3
    assert broker.partition("t").log.config.retention_ms == 1_000
    if version >= 5:
        assert (result.num_partitions, result.replication_factor) == (3, 1)
        assert {c.name: c.value for c in result.configs}["retention.ms"] == "1000"
    if version >= 7:
        assert result.topic_id == broker.plane.image.topics_by_name["t"].topic_id
    assert produce(broker, batch(), index=2).error_code == ErrorCode.NONE


def test_one_bad_topic_costs_the_others_nothing(broker: Broker) -> None:
    broker.create_topic("old")
    results = create(
        broker,
        topic("good"),
        topic("old"),
        topic("not valid"),
        topic("none", 0),
        topic("odd", retention_ms="soon"),
        topic("twice"),
        topic("twice"),
        topic("__cluster_metadata"),
    )
    codes = {result.name: ErrorCode(result.error_code) for result in results}
    assert codes == {
        "good": ErrorCode.NONE,
        "old": ErrorCode.TOPIC_ALREADY_EXISTS,
        "not valid": ErrorCode.INVALID_TOPIC_EXCEPTION,
        "none": ErrorCode.INVALID_PARTITIONS,
        "odd": ErrorCode.INVALID_CONFIG,
        "twice": ErrorCode.INVALID_REQUEST,
        "__cluster_metadata": ErrorCode.INVALID_REQUEST,
    }
    assert sorted(broker.plane.image.topics_by_name) == ["good", "old"]


def test_validate_only_creates_nothing(broker: Broker) -> None:
    results = create(broker, topic("t"), topic("not valid"), validate_only=True)
    assert sorted(result.error_code for result in results) == [0, ErrorCode.INVALID_TOPIC_EXCEPTION]
    assert broker.plane.image.topics_by_name == {}


def test_a_controller_that_fails_refuses_every_topic(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(command: Any, done: Any) -> None:
        done(KafkaError(ErrorCode.NOT_CONTROLLER, "gone"))

    monkeypatch.setattr(broker.plane, "submit", refuse)
    results = create(broker, topic("a"), topic("b"))
    assert [(r.error_code, r.error_message) for r in results] == [
        (ErrorCode.NOT_CONTROLLER, "gone")
    ] * 2


def test_creating_needs_the_right_on_the_cluster_or_on_the_name(tmp_path: Path) -> None:
    rights = [(Operation.CREATE, TOPIC, "mine")]
    broker = Broker(tmp_path, authorizer=DenyAll(*rights))
    results = create(broker, topic("mine"), topic("yours"))
    assert {result.name: result.error_code for result in results} == {
        "mine": ErrorCode.NONE,
        "yours": ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    }
    broker.close()


# DeleteTopics


def delete(broker: Broker, *states: DeleteTopicState) -> list[tuple[str | None, int]]:
    response = broker.ask(DeleteTopicsRequest(topics=list(states), timeout_ms=1_000))
    return [(result.name, result.error_code) for result in response.responses]


@pytest.mark.parametrize("version", range(1, 7))
def test_a_deleted_topic_is_gone_when_the_answer_comes(broker: Broker, version: int) -> None:
    broker.create_topic("t", 2)
    directory = Path(broker.partition("t").log.directory)
    request = DeleteTopicsRequest(
        topic_names=["t"], topics=[DeleteTopicState(name="t")], timeout_ms=1_000
    )
    if version >= 6:
        request.topic_names = []
    (result,) = broker.ask(request, version).responses
    assert (result.name, result.error_code) == ("t", ErrorCode.NONE)
    assert broker.partitions.named("t") == {}
    assert not directory.exists()
    assert produce(broker, batch()).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_topics_are_deleted_by_id_too(broker: Broker) -> None:
    topic_id = broker.create_topic("t")
    assert delete(broker, DeleteTopicState(name=None, topic_id=topic_id)) == [("t", 0)]
    assert broker.plane.image.topics_by_id == {}


def test_what_cannot_be_deleted_is_told(broker: Broker) -> None:
    topic_id = broker.create_topic("t")
    unknown = b"\x07" * 16
    for states, codes in (
        ([DeleteTopicState(name="nowhere")], [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]),
        ([DeleteTopicState(name=None, topic_id=unknown)], [ErrorCode.UNKNOWN_TOPIC_ID]),
        ([DeleteTopicState(name=None)], [ErrorCode.INVALID_REQUEST]),
        ([DeleteTopicState(name="t", topic_id=topic_id)], [ErrorCode.INVALID_REQUEST]),
        ([DeleteTopicState(name="t")] * 2, [ErrorCode.INVALID_REQUEST] * 2),
        (
            [DeleteTopicState(name=None, topic_id=topic_id)] * 2,
            [ErrorCode.INVALID_REQUEST] * 2,
        ),
    ):
        assert [code for _, code in delete(broker, *states)] == codes
    assert "t" in broker.plane.image.topics_by_name


def test_deletion_can_be_switched_off(tmp_path: Path) -> None:
    broker = Broker(tmp_path, overrides={"delete.topic.enable": "false"})
    broker.create_topic("t")
    assert delete(broker, DeleteTopicState(name="t")) == [("t", ErrorCode.TOPIC_DELETION_DISABLED)]
    broker.close()


def test_whether_a_topic_exists_is_not_told_to_those_who_may_not_know(tmp_path: Path) -> None:
    refused = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    broker = Broker(tmp_path, authorizer=DenyAll((Operation.DESCRIBE, TOPIC, "seen")))
    broker.create_topic("t")
    states = [DeleteTopicState(name=name) for name in ("t", "nowhere", "seen")]
    assert delete(broker, *states) == [
        ("t", refused),
        ("nowhere", refused),
        ("seen", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]
    broker.close()


def test_a_topic_made_again_begins_at_offset_0(broker: Broker) -> None:
    broker.create_topic("t")
    produce(broker, batch(5))
    delete(broker, DeleteTopicState(name="t"))
    broker.create_topic("t")
    assert produce(broker, batch()).base_offset == 0


# CreatePartitions


def test_partitions_are_added_and_never_taken_away(broker: Broker) -> None:
    broker.create_topic("t", 2)
    for name, count, code in (
        ("t", 4, ErrorCode.NONE),
        ("t", 4, ErrorCode.INVALID_PARTITIONS),
        ("t", 3, ErrorCode.INVALID_PARTITIONS),
        ("nowhere", 3, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ):
        topics = [CreatePartitionsTopic(name=name, count=count, assignments=None)]
        (result,) = broker.ask(CreatePartitionsRequest(topics=topics, timeout_ms=1_000)).results
        assert (result.name, result.error_code) == (name, code)
    assert len(broker.partitions.named("t")) == 4
    assert produce(broker, batch(), index=3).error_code == ErrorCode.NONE


# Configs


def set_incrementally(broker: Broker, name: str, key: str, value: str | None, op: int = 0) -> int:
    resource = incremental_alter_configs.AlterConfigsResource(
        resource_type=ConfigResource.TOPIC,
        resource_name=name,
        configs=[
            incremental_alter_configs.AlterableConfig(name=key, config_operation=op, value=value)
        ],
    )
    request = incremental_alter_configs.IncrementalAlterConfigsRequest(resources=[resource])
    (result,) = broker.ask(request).responses
    code: int = result.error_code
    return code


def test_a_changed_setting_holds_for_the_next_batch(broker: Broker) -> None:
    broker.create_topic("t")
    assert set_incrementally(broker, "t", "max.message.bytes", "100") == ErrorCode.NONE
    big = batch(value=b"x" * 500)
    assert produce(broker, big).error_code == ErrorCode.MESSAGE_TOO_LARGE
    assert set_incrementally(broker, "t", "max.message.bytes", None, op=1) == ErrorCode.NONE
    assert produce(broker, big).error_code == ErrorCode.NONE


def test_settings_that_make_no_sense_are_refused(broker: Broker) -> None:
    broker.create_topic("t")
    for key, value, code in (
        ("retention.ms", "soon", ErrorCode.INVALID_CONFIG),
        ("no.such.setting", "1", ErrorCode.INVALID_CONFIG),
        ("max.message.bytes", "-1", ErrorCode.INVALID_CONFIG),
    ):
        assert set_incrementally(broker, "t", key, value) == code, key
    unknown = set_incrementally(broker, "nowhere", "retention.ms", "1")
    assert unknown == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_alter_configs_replaces_everything(broker: Broker) -> None:
    broker.create_topic("t", retention_ms="1", max_message_bytes="2000")
    resource = alter_configs.AlterConfigsResource(
        resource_type=ConfigResource.TOPIC,
        resource_name="t",
        configs=[alter_configs.AlterableConfig(name="retention.ms", value="5")],
    )
    request = alter_configs.AlterConfigsRequest(resources=[resource])
    (result,) = broker.ask(request).responses
    assert result.error_code == ErrorCode.NONE
    assert broker.plane.image.config(ConfigResource.TOPIC, "t") == {"retention.ms": "5"}
    assert broker.partition("t").log.config.max_message_bytes == 1_048_588


def test_a_resource_named_twice_is_refused(broker: Broker) -> None:
    broker.create_topic("t")
    resource = alter_configs.AlterConfigsResource(
        resource_type=ConfigResource.TOPIC, resource_name="t"
    )
    for times in (2, 3):
        request = alter_configs.AlterConfigsRequest(resources=[resource] * times)
        (result,) = broker.ask(request).responses
        assert result.error_code == ErrorCode.INVALID_REQUEST


# InitProducerId


def init(broker: Broker, **options: Any) -> Any:
    return broker.ask(InitProducerIdRequest(**{"transactional_id": None, **options}))


def test_every_producer_gets_an_id_of_its_own(broker: Broker) -> None:
    first = init(broker)
    assert (first.error_code, first.producer_epoch) == (ErrorCode.NONE, 0)
    ids = {init(broker).producer_id for _ in range(2_500)}
    assert len(ids) == 2_500
    assert first.producer_id not in ids
    assert min(ids) >= 0


def test_the_id_and_the_epoch_come_together(broker: Broker) -> None:
    for options in ({"producer_id": 5}, {"producer_epoch": 5}):
        assert init(broker, **options).error_code == ErrorCode.INVALID_REQUEST


def test_an_empty_transactional_id_is_an_invalid_request(broker: Broker) -> None:
    assert init(broker, transactional_id="").error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    ("rights", "code"),
    [
        ([], ErrorCode.CLUSTER_AUTHORIZATION_FAILED),
        ([(Operation.WRITE, TOPIC, "any")], ErrorCode.NONE),
        (
            [(Operation.IDEMPOTENT_WRITE, ResourceType.CLUSTER, CLUSTER_NAME)],
            ErrorCode.NONE,
        ),
    ],
)
def test_an_id_is_for_those_who_may_write_somewhere(
    tmp_path: Path, rights: list[tuple[Operation, ResourceType, str]], code: ErrorCode
) -> None:
    broker = Broker(tmp_path, authorizer=DenyAll(*rights))
    assert init(broker).error_code == code
    broker.close()


def test_ids_are_fetched_in_blocks_once_for_all_who_wait() -> None:
    asked: list[Any] = []
    ids = ProducerIds(asked.append)
    taken: list[int | KafkaError] = []
    for _ in range(3):
        ids.take(taken.append)
    assert (len(asked), taken) == (1, [])
    asked[0]((100, 2))
    assert (len(asked), taken) == (2, [100, 101])
    asked[1]((500, 1000))
    ids.take(taken.append)
    assert taken == [100, 101, 500, 501]


def test_a_block_that_cannot_be_had_is_told_and_tried_again() -> None:
    asked: list[Any] = []
    ids = ProducerIds(asked.append)
    taken: list[int | KafkaError] = []
    ids.take(taken.append)
    error = KafkaError(ErrorCode.NOT_CONTROLLER)
    asked[0](error)
    assert taken == [error]
    ids.take(taken.append)
    asked[1]((7, 1))
    assert taken[1] == 7
