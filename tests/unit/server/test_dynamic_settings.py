"""Broker settings that are changed while a node runs, and what they do after its next start."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import pytest

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.uuids import format_uuid, random_uuid
from headrace.client.blocking import KafkaClient
from headrace.client.errors import raise_for_code
from headrace.log.log_registry import LogManagerConfig
from headrace.metadata.controller.configs import ConfigOperation
from headrace.metadata.controller.result import ControllerResult
from headrace.metadata.features import CORDONED_DIRECTORIES_LEVEL, METADATA_VERSION
from headrace.metadata.image import ConfigResource
from headrace.metadata.record_codec import AnyRecord
from headrace.metadata.records import ConfigRecord
from headrace.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from headrace.protocol.messages.update_features import (
    FeatureUpdateKey,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from headrace.server.config import NodeConfig
from headrace.server.dynamic_settings import DynamicSettings
from headrace.server.formatting import FormatPlan, format_storage
from headrace.server.node import Node
from headrace.testing.topics import create_topic, delete_topics
from tests.unit.server.counted_rounds import CountedRounds
from tests.unit.server.nodes import formatted, run, use, with_client

ALL, THIS = "", "1"
_CORDONED = "have all their log directories cordoned"


def alter(client: KafkaClient, broker: str, **settings: str | None) -> None:
    """Set settings of a broker, or of all; None unsets one."""
    resource = AlterConfigsResource(
        resource_type=ConfigResource.BROKER,
        resource_name=broker,
        configs=[
            AlterableConfig(
                name=name.replace("_", "."),
                config_operation=ConfigOperation.DELETE if value is None else ConfigOperation.SET,
                value=value,
            )
            for name, value in settings.items()
        ],
    )
    request = IncrementalAlterConfigsRequest(resources=[resource])
    answer = client.any_node().call(request, IncrementalAlterConfigsResponse)
    for result in answer.responses:
        raise_for_code(result.error_code, result.error_message)


def now_and_after_a_restart(
    config: NodeConfig,
    change: Callable[[KafkaClient], None],
    look: Callable[[Node], Awaitable[None]],
) -> None:
    async def story(node: Node) -> None:
        await with_client(node, change)
        await look(node)

    run(config, story)
    run(config, look)


# Connections


async def admitted(node: Node, listener: int = 0) -> int:
    """How many of five connections may stay."""
    kept = 0
    peers: list[asyncio.StreamWriter] = []
    await _nobody_is_there(node)
    for _ in range(5):
        reader, writer = await asyncio.open_connection("127.0.0.1", node.listeners[listener].port)
        peers.append(writer)
        # ApiVersions version 0, correlation id 7, no client id.
        writer.write(bytes.fromhex("0000000a 0012 0000 00000007 ffff"))
        with suppress(ConnectionError):
            kept += bool(await reader.read(4))
    for writer in peers:
        writer.close()
    await _nobody_is_there(node)
    return kept


async def _nobody_is_there(node: Node) -> None:
    while any(listener.connection_count for listener in node.listeners):  # noqa: ASYNC110
        await asyncio.sleep(0)


async def admits_all(node: Node) -> None:
    assert await admitted(node) == 5


@pytest.mark.parametrize(
    ("name", "value", "count"),
    [
        ("max.connections", "3", 3),
        ("max.connections.per.ip", "3", 3),
        ("max.connections.per.ip.overrides", "127.0.0.1:3", 3),
        ("max.connection.creation.rate", "0", 0),
        ("listener.name.plaintext.max.connections", "3", 3),
    ],
)
def test_limits_of_connections_act_at_once_and_after_a_restart(
    tmp_path: Path, name: str, value: str, count: int
) -> None:
    async def look(node: Node) -> None:
        assert await admitted(node) == count

    config = formatted(tmp_path / "data")
    run(config, admits_all)
    now_and_after_a_restart(config, lambda client: alter(client, ALL, **{name: value}), look)


def test_a_limit_of_one_listener_leaves_the_other_alone_and_can_be_taken_back(
    tmp_path: Path,
) -> None:
    async def story(node: Node) -> None:
        name = "listener.name.plaintext.max.connections"
        await with_client(node, lambda client: alter(client, ALL, **{name: "2"}))
        assert await admitted(node) == 2
        assert await admitted(node, listener=1) == 5
        await with_client(node, lambda client: alter(client, ALL, **{name: None}))
        assert await admitted(node) == 5

    run(formatted(tmp_path / "data"), story)


def test_a_broker_of_its_own_goes_before_all_of_them_and_both_before_the_file(
    tmp_path: Path,
) -> None:
    async def story(node: Node) -> None:
        assert await admitted(node) == 4
        await with_client(node, lambda client: alter(client, ALL, max_connections="2"))
        assert await admitted(node) == 2
        await with_client(node, lambda client: alter(client, THIS, max_connections="3"))
        assert await admitted(node) == 3
        await with_client(node, lambda client: alter(client, THIS, max_connections=None))
        await with_client(node, lambda client: alter(client, ALL, max_connections=None))
        assert await admitted(node) == 4

    run(formatted(tmp_path / "data", {"max.connections": "4"}), story)


# Logs


def test_settings_of_the_cleaner_and_of_deletions_act_at_once_and_after_a_restart(
    tmp_path: Path,
) -> None:
    def change(client: KafkaClient) -> None:
        create_topic(client, "old", 1, {})
        alter(
            client,
            ALL,
            log_cleaner_io_max_bytes_per_second="1000.0",
            log_cleaner_dedupe_buffer_size="2000000",
            log_cleaner_io_buffer_load_factor="0.5",
            log_segment_delete_delay_ms="7",
            producer_id_expiration_ms="8",
        )
        create_topic(client, "new", 1, {})

    async def look(node: Node) -> None:
        assert node.logs.config == LogManagerConfig(
            producer_expiration_ms=8,
            file_delete_delay_ms=7,
            cleaner_dedupe_buffer_size=2_000_000,
            cleaner_dedupe_buffer_load_factor=0.5,
            cleaner_io_max_bytes_per_second=1000.0,
        )
        assert {log.producer_expiration_ms for log in node.logs.logs.values()} == {8}

    now_and_after_a_restart(formatted(tmp_path / "data"), change, look)


def test_a_deleted_partition_goes_after_the_delay_of_its_deletion(tmp_path: Path) -> None:
    async def story(node: Node) -> None:
        def work(client: KafkaClient) -> None:
            create_topic(client, "gone", 1, {})
            alter(client, THIS, log_segment_delete_delay_ms="0")
            delete_topics(client, ["gone"])

        await with_client(node, work)
        await node.maintenance.delete()
        assert not list((tmp_path / "data").glob("gone*"))

    run(formatted(tmp_path / "data"), story)


def test_the_cleaner_takes_its_new_pause_now_and_after_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds = CountedRounds(monkeypatch, "compact")

    async def look(node: Node) -> None:
        await rounds.more(2)

    config = formatted(tmp_path / "data", {"log.cleaner.backoff.ms": "86400000"})
    now_and_after_a_restart(
        config, lambda client: alter(client, ALL, log_cleaner_backoff_ms="1"), look
    )


# Directories


def two_directories(tmp_path: Path, **settings: str) -> NodeConfig:
    paths = f"{tmp_path / 'one'},{tmp_path / 'two'}"
    given = {name.replace("_", "."): value for name, value in settings.items()}
    return formatted(tmp_path / "one", {"log.dirs": paths, **given})


def test_nothing_new_is_made_while_all_directories_are_cordoned(tmp_path: Path) -> None:
    def cordon(client: KafkaClient) -> None:
        create_topic(client, "before", 1, {})
        alter(client, THIS, cordoned_log_dirs="*")

    async def look(node: Node) -> None:
        with pytest.raises(KafkaError, match=_CORDONED) as refused:
            await with_client(node, lambda client: create_topic(client, "new", 1, {}))
        assert refused.value.code is ErrorCode.INVALID_REPLICATION_FACTOR
        assert list(node.plane.image.topics_by_name) == ["before"]
        # It is this node's registration that says so.
        broker = node.plane.image.brokers[1]
        assert broker.cordoned_directories is not None
        assert set(broker.cordoned_directories) == set(broker.directories)

    config = two_directories(tmp_path)
    now_and_after_a_restart(config, cordon, look)

    def uncordon(client: KafkaClient) -> None:
        alter(client, THIS, cordoned_log_dirs=str(tmp_path / "one"))
        create_topic(client, "after", 3, {})

    async def story(node: Node) -> None:
        await with_client(node, uncordon)
        homes = {log.directory for log in node.logs.logs.values() if log.topic == "after"}
        assert {Path(home).parent.name for home in homes} == {"two"}

    run(config, story)


def test_directories_that_the_file_cordons_are_registered(tmp_path: Path) -> None:
    config = two_directories(tmp_path, cordoned_log_dirs="*")
    with pytest.raises(KafkaError, match=_CORDONED):
        use(config, lambda client: create_topic(client, "new", 1, {}))

    def work(client: KafkaClient) -> None:
        alter(client, THIS, cordoned_log_dirs="")
        create_topic(client, "new", 1, {})

    use(config, work)


def test_a_cluster_that_cannot_register_them_yet_does_so_with_its_new_version(
    tmp_path: Path,
) -> None:
    paths = (str(tmp_path / "one"), str(tmp_path / "two"))
    config = NodeConfig.for_development(
        paths[0], 0, {"log.dirs": ",".join(paths), "cordoned.log.dirs": "*"}
    )
    plan = FormatPlan(
        cluster_id=format_uuid(random_uuid()),
        node_id=1,
        directories=paths,
        metadata_directory=paths[0],
        metadata_version=CORDONED_DIRECTORIES_LEVEL - 1,
    )
    format_storage(plan, now_ms=0, written="#today", say=lambda _: None)

    def work(client: KafkaClient) -> None:
        # As with Kafka, nothing keeps partitions away before.
        create_topic(client, "before", 1, {})
        with pytest.raises(KafkaError, match="it requires metadata"):
            alter(client, THIS, cordoned_log_dirs="")
        update = FeatureUpdateKey(
            feature=METADATA_VERSION, max_version_level=CORDONED_DIRECTORIES_LEVEL
        )
        client.admin(UpdateFeaturesRequest(feature_updates=[update]), UpdateFeaturesResponse)
        with pytest.raises(KafkaError, match=_CORDONED):
            create_topic(client, "after", 1, {})

    use(config, work)


# What makes no sense


def test_a_setting_that_cannot_be_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    async def story(node: Node) -> None:
        def work(client: KafkaClient) -> None:
            for settings in (
                {"max_connections_per_ip_overrides": "nonsense"},
                {"max_connections_per_ip": "0"},
                {"cordoned_log_dirs": "/nowhere"},
                {"listeners": "PLAINTEXT://127.0.0.1:1"},
            ):
                with pytest.raises(KafkaError) as refused:
                    alter(client, THIS, **settings)
                assert refused.value.code is ErrorCode.INVALID_REQUEST

        await with_client(node, work)
        assert await admitted(node) == 5
        assert node.logs.cordoned == frozenset()

    run(formatted(tmp_path / "data"), story)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max.connections.per.ip", "0"),
        ("max.connections.per.ip.overrides", "10.0.0.1:" + "1" * 5000),
    ],
)
def test_a_node_starts_with_its_file_alone_if_the_metadata_contradicts_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str, value: str
) -> None:
    config = formatted(tmp_path / "data")

    async def write(node: Node) -> None:
        # As an older version, or another program, may have left it.
        records = [
            ConfigRecord(resource_type=4, resource_name=ALL, name=one, value=given)
            for one, given in (("max.connections", "3"), (name, value))
        ]
        node.plane.write_now(records)
        node.plane.flush_now()

    run(config, write)
    run(config, admits_all)
    assert "the dynamic settings of this broker are not applied" in caplog.text

    async def mend(node: Node) -> None:
        await with_client(node, lambda client: alter(client, ALL, **{name: None}))
        assert await admitted(node) == 3

    run(config, mend)


def test_settings_that_make_no_sense_together_act_on_no_part_of_a_running_node(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    given = {
        "max.connections.per.ip": "0",
        "log.retention.ms": "1234",
        "transaction.partition.verification.enable": "false",
    }
    records: list[AnyRecord] = [
        ConfigRecord(resource_type=4, resource_name=ALL, name=name, value=value)
        for name, value in given.items()
    ]

    async def story(node: Node) -> None:
        await with_client(node, lambda client: create_topic(client, "before", 1, {}))
        # As another program may write them.
        await node.plane.run(lambda _: ControllerResult(None, records))
        assert caplog.text.count("the dynamic settings of this broker are not applied") == 1
        await with_client(node, lambda client: create_topic(client, "after", 1, {}))
        for topic in ("before", "after"):
            log = node.partitions.require(topic, 0).log
            assert log.config.retention_ms == 604_800_000
        assert node.transactions._admission_config.verifies
        assert await admitted(node) == 5

    run(formatted(tmp_path / "data"), story)


def test_a_change_that_cannot_be_applied_costs_the_node_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def stumble(self: DynamicSettings, *_: object) -> None:
        raise ValueError("a part of the node has a mistake")

    async def story(node: Node) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(DynamicSettings, "_apply", stumble)
            await with_client(node, lambda client: alter(client, ALL, max_connections="3"))
        assert await admitted(node) == 5
        await with_client(node, lambda client: alter(client, ALL, max_connections="4"))
        assert await admitted(node) == 4

    run(formatted(tmp_path / "data"), story)
    assert "a part of the node has a mistake" in caplog.text
