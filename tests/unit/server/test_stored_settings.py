"""A node on metadata with settings that it cannot read."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.client.blocking import KafkaClient
from headrace.metadata.image import ConfigKey, ConfigResource, MetadataImage
from headrace.metadata.records import ConfigRecord
from headrace.server.node import Node
from headrace.server.stored_settings import unreadable_settings
from headrace.testing.topics import create_topic
from tests.support.talk import consume, produce
from tests.unit.server.nodes import formatted, run, use, with_client

RATIO, ISR = "min.cleanable.dirty.ratio", "min.insync.replicas"
BROKER_RATIO = "log.cleaner.min.cleanable.ratio"


def test_a_node_starts_and_says_once_which_settings_it_cannot_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = formatted(tmp_path / "data")

    async def write(node: Node) -> None:
        def work(client: KafkaClient) -> None:
            create_topic(client, "odd", 1, {})
            create_topic(client, "plain", 1, {})

        await with_client(node, work)
        # As another program may have left it.
        node.plane.write_now(
            [
                ConfigRecord(resource_type=kind, resource_name=owner, name=name, value=value)
                for kind, owner, name, value in (
                    (ConfigResource.TOPIC, "odd", RATIO, "NaN"),
                    (ConfigResource.TOPIC, "odd", ISR, "many"),
                    (ConfigResource.TOPIC, "odd", "retention.ms", "-1"),
                    (ConfigResource.TOPIC, "odd", "compression.type", "brotli"),
                    (ConfigResource.TOPIC, "plain", RATIO, "0x1p-2"),
                    (ConfigResource.BROKER, "", BROKER_RATIO, "NaN"),
                )
            ]
        )
        node.plane.flush_now()

    async def look(node: Node) -> None:
        odd = node.partitions.require("odd", 0).log.config
        assert (odd.min_cleanable_dirty_ratio, odd.min_insync_replicas) == (0.5, 1)
        assert odd.retention_ms == -1
        assert node.partitions.require("plain", 0).log.config.min_cleanable_dirty_ratio == 0.25

        def work(client: KafkaClient) -> None:
            produce(client, "odd", [b"x"])
            assert len(consume(client, "odd")) == 1

        await with_client(node, work)

    run(config, write)
    caplog.clear()
    run(config, look)
    lines = sorted(one.message for one in caplog.records if "counts for nothing" in one.message)
    assert "brotli for configuration compression.type: " in lines.pop(2)
    assert lines == [
        f"A setting of {owner} counts for nothing: Invalid value {value} for configuration {name}:"
        f" Not a number of type {kind}"
        for owner, value, name, kind in (
            ("all brokers", "NaN", BROKER_RATIO, "DOUBLE"),
            ("topic odd", "NaN", RATIO, "DOUBLE"),
            ("topic odd", "many", ISR, "INT"),
        )
    ]
    use(config, lambda client: create_topic(client, "new", 1, {}))


def told(key: ConfigKey, name: str, text: str) -> str:
    (sentence,) = unreadable_settings(MetadataImage(configs={key: {name: text}}), node_id=1)
    return sentence


def test_it_says_whose_setting_it_is() -> None:
    assert "of broker 1 counts" in told((ConfigResource.BROKER, "1"), "max.connections", "few")
    group = told((ConfigResource.GROUP, "g"), "consumer.session.timeout.ms", "soon")
    assert "of group g counts" in group
    metrics = told((ConfigResource.CLIENT_METRICS, "m"), "interval.ms", "soon")
    assert "of client metrics m counts" in metrics


def test_what_is_unknown_or_of_another_broker_or_only_beyond_a_topics_limit_is_not_told() -> None:
    image = MetadataImage(
        configs={
            (ConfigResource.BROKER, "2"): {"max.connections": "few"},
            (ConfigResource.BROKER, "1"): {"some.plugin": "few"},
            (ConfigResource.BROKER_LOGGER, "1"): {"kafka": "LOUD"},
            (ConfigResource.TOPIC, "a"): {ISR: "0", "new.in.kafka.9": "few"},
        }
    )
    assert unreadable_settings(image, node_id=1) == []
