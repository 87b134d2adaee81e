"""Topics and settings through the admin clients of three libraries."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin import NewTopic as AioNewTopic
from confluent_kafka import KafkaException, TopicCollection, TopicPartition
from confluent_kafka import admin as confluent_admin
from kafka import KafkaAdminClient
from kafka.admin import NewTopic as KafkaPythonNewTopic

from headrace.testing import EmbeddedKafka
from tests.clients.client import Row
from tests.clients.confluent import Confluent

TIMEOUT_S = 30
#: Its types do not name all that it has.
api: Any = confluent_admin


@pytest.fixture
def admin(node: EmbeddedKafka) -> Any:
    return api.AdminClient({"bootstrap.servers": node.bootstrap_servers})


def only(futures: dict[Any, Any]) -> Any:
    """The result of the one thing that was asked for."""
    (future,) = futures.values()
    return future.result(TIMEOUT_S)


def topic_configs(admin: Any, name: str) -> dict[str, Any]:
    found: dict[str, Any] = only(
        admin.describe_configs([api.ConfigResource(api.ResourceType.TOPIC, name)])
    )
    return found


# confluent-kafka


def test_a_topic_is_created_described_grown_and_deleted(admin: Any) -> None:
    only(admin.create_topics([api.NewTopic("life", 2, 1, config={"retention.ms": "1234567"})]))
    described = only(admin.describe_topics(TopicCollection(["life"])))
    assert [partition.id for partition in described.partitions] == [0, 1]
    assert described.partitions[0].leader.id == described.partitions[0].isr[0].id
    assert str(described.topic_id) != ""
    only(admin.create_partitions([api.NewPartitions("life", 5)]))
    assert len(admin.list_topics("life", TIMEOUT_S).topics["life"].partitions) == 5
    only(admin.delete_topics(["life"], operation_timeout=TIMEOUT_S))
    assert "life" not in admin.list_topics(timeout=TIMEOUT_S).topics


def test_settings_of_a_topic_have_a_value_and_a_source(admin: Any) -> None:
    only(admin.create_topics([api.NewTopic("settings", 1, 1, config={"retention.ms": "1000"})]))
    configs = topic_configs(admin, "settings")
    assert configs["retention.ms"].value == "1000"
    assert not configs["retention.ms"].is_default
    assert configs["segment.bytes"].value == "1073741824"
    assert configs["segment.bytes"].is_default
    changes = [
        api.ConfigEntry("retention.ms", None, incremental_operation=api.AlterConfigOpType.DELETE),
        api.ConfigEntry(
            "cleanup.policy", "compact", incremental_operation=api.AlterConfigOpType.APPEND
        ),
        api.ConfigEntry(
            "segment.bytes", "2097152", incremental_operation=api.AlterConfigOpType.SET
        ),
    ]
    resource = api.ConfigResource(api.ResourceType.TOPIC, "settings", incremental_configs=changes)
    only(admin.incremental_alter_configs([resource]))
    configs = topic_configs(admin, "settings")
    assert configs["retention.ms"].value == "604800000"
    assert configs["cleanup.policy"].value == "delete,compact"
    assert configs["segment.bytes"].value == "2097152"


def test_settings_of_the_broker_are_described(admin: Any) -> None:
    configs = only(admin.describe_configs([api.ConfigResource(api.ResourceType.BROKER, "1")]))
    assert configs["node.id"].value == "1"
    assert configs["num.partitions"].value == "1"
    assert configs["log.dirs"].is_read_only


def test_the_cluster_describes_itself(admin: Any, node: EmbeddedKafka) -> None:
    cluster = admin.describe_cluster().result(TIMEOUT_S)
    assert [broker.id for broker in cluster.nodes] == [1]
    assert f"{cluster.nodes[0].host}:{cluster.nodes[0].port}" == node.bootstrap_servers
    assert cluster.cluster_id == admin.list_topics(timeout=TIMEOUT_S).cluster_id


def test_offsets_are_listed_by_every_specification(admin: Any, node: EmbeddedKafka) -> None:
    topic = node.topic()
    rows = [Row(b"x", timestamp=timestamp) for timestamp in (1_000, 9_000, 3_000)]
    Confluent(node.bootstrap_servers).write(topic, rows)

    def ask(spec: Any) -> int:
        found = only(admin.list_offsets({TopicPartition(topic, 0): spec}))
        return int(found.offset)

    assert ask(api.OffsetSpec.earliest()) == 0
    assert ask(api.OffsetSpec.latest()) == 3
    assert ask(api.OffsetSpec.max_timestamp()) == 1
    assert ask(api.OffsetSpec.for_timestamp(2_000)) == 1


@pytest.mark.parametrize(
    ("topic", "error"),
    [
        (api.NewTopic("a/b", 1, 1), "TOPIC_EXCEPTION"),
        (api.NewTopic("zero", 0, 1), "INVALID_PARTITIONS"),
        (api.NewTopic("wide", 1, 3), "INVALID_REPLICATION_FACTOR"),
        (api.NewTopic("odd", 1, 1, config={"retention.ms": "soon"}), "INVALID_CONFIG"),
        (api.NewTopic("odd", 1, 1, config={"no.such.setting": "1"}), "INVALID_CONFIG"),
    ],
)
def test_a_topic_that_cannot_be_is_refused_with_kafkas_error(
    admin: Any, topic: Any, error: str
) -> None:
    with pytest.raises(KafkaException) as refused:
        only(admin.create_topics([topic]))
    assert refused.value.args[0].name() == error
    assert refused.value.args[0].str()


def test_a_topic_that_is_there_and_one_that_is_not_are_told(admin: Any) -> None:
    only(admin.create_topics([api.NewTopic("there", 1, 1)]))
    with pytest.raises(KafkaException) as refused:
        only(admin.create_topics([api.NewTopic("there", 1, 1)]))
    assert refused.value.args[0].name() == "TOPIC_ALREADY_EXISTS"
    with pytest.raises(KafkaException) as refused:
        only(admin.delete_topics(["nowhere"]))
    assert refused.value.args[0].name() == "UNKNOWN_TOPIC_OR_PART"


# kafka-python


def test_kafka_python_creates_describes_and_deletes(node: EmbeddedKafka) -> None:
    admin = KafkaAdminClient(bootstrap_servers=node.bootstrap_servers)
    try:
        admin.create_topics(
            [KafkaPythonNewTopic("python-life", 3, 1, topic_configs={"retention.ms": "77"})]
        )
        assert "python-life" in admin.list_topics()
        (topic,) = admin.describe_topics(["python-life"])
        assert len(topic["partitions"]) == 3
        admin.delete_topics(["python-life"])
        assert "python-life" not in admin.list_topics()
        assert [broker["broker_id"] for broker in admin.describe_cluster()["brokers"]] == [1]
    finally:
        admin.close()


# aiokafka


def test_aiokafka_creates_describes_and_deletes(node: EmbeddedKafka) -> None:
    async def story() -> None:
        admin = AIOKafkaAdminClient(bootstrap_servers=node.bootstrap_servers)
        await admin.start()
        try:
            await admin.create_topics([AioNewTopic("aio-life", 3, 1)])
            assert "aio-life" in await admin.list_topics()
            (topic,) = await admin.describe_topics(["aio-life"])
            assert len(topic["partitions"]) == 3
            await admin.delete_topics(["aio-life"])
            assert "aio-life" not in await admin.list_topics()
        finally:
            await admin.close()

    asyncio.run(story())
