"""A node's life: how it starts, what keeps it from starting, how it ends."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.base.checks import InvariantBrokenError
from headrace.base.errors import ErrorCode, KafkaError
from headrace.client.blocking import KafkaClient
from headrace.log.directories import CLEAN_SHUTDOWN_FILE, DataDirectoryError
from headrace.log.errors import LogDirFailure
from headrace.metadata.controller.result import ControllerResult
from headrace.metadata.features import SUPPORTED
from headrace.metadata.records import NoOpRecord
from headrace.server.config import NodeConfig
from headrace.server.node import Node
from headrace.server.sockets import BindError
from headrace.testing.topics import create_topic, list_topics
from tests.support.headrace_node import HEADRACE, HeadraceNode, headrace
from tests.support.talk import client_of, consume, produce
from tests.unit.server.nodes import formatted, run, running, use, with_client


def values(client: KafkaClient, topic: str, partition: int = 0) -> list[bytes | None]:
    return [record.value for record in consume(client, topic, partition)]


# Stops and restarts


def test_a_restart_finds_topics_records_and_the_same_cluster(tmp_path: Path) -> None:
    def first(client: KafkaClient) -> str | None:
        create_topic(client, "orders", 1, {"retention.ms": "-1"})
        produce(client, "orders", [b"a", b"b"])
        return client.cluster().cluster_id

    def second(client: KafkaClient) -> str | None:
        assert values(client, "orders") == [b"a", b"b"]
        produce(client, "orders", [b"c"])
        assert values(client, "orders") == [b"a", b"b", b"c"]
        return client.cluster().cluster_id

    config = formatted(tmp_path / "data")
    assert use(config, first) == use(config, second)


def test_a_clean_stop_leaves_the_mark_and_a_start_takes_it_away(tmp_path: Path) -> None:
    config = formatted(tmp_path / "data")
    mark = tmp_path / "data" / CLEAN_SHUTDOWN_FILE

    async def story(node: Node) -> int:
        assert not mark.exists()
        return node.broker_epoch

    epoch = run(config, story)
    assert json.loads(mark.read_text()) == {"version": 0, "brokerEpoch": epoch}
    assert run(config, story) > epoch


def test_stopping_ends_clients_and_frees_ports_and_directories(tmp_path: Path) -> None:
    config = formatted(tmp_path / "data")

    async def story() -> None:
        async with running(config) as node:
            reader, writer = await asyncio.open_connection("127.0.0.1", node.listeners[0].port)
        assert await reader.read() == b""
        writer.close()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", node.listeners[0].port)
        # The directory is free at once, in the same process.
        async with running(config):
            pass

    asyncio.run(story())


def test_a_waiting_consumer_does_not_hold_up_a_stop(tmp_path: Path) -> None:
    async def story() -> None:
        async with running(formatted(tmp_path / "data")) as node:
            await with_client(node, lambda client: create_topic(client, "quiet", 1, {}))
            task = asyncio.create_task(with_client(node, lambda client: wait_for_data(client)))
            partition = node.partitions.require("quiet", 0)
            while not partition.data_waiters:  # noqa: ASYNC110 - what is waited for sets no event
                await asyncio.sleep(0)
        assert not partition.data_waiters
        with pytest.raises(KafkaError):
            await task

    def wait_for_data(client: KafkaClient) -> None:
        from headrace.protocol.messages.fetch import (
            FetchPartition,
            FetchRequest,
            FetchResponse,
            FetchTopic,
        )

        partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1000)
        request = FetchRequest(
            max_wait_ms=60_000,
            min_bytes=1,
            max_bytes=1000,
            topics=[FetchTopic(topic="quiet", partitions=[partition])],
        )
        client.any_node().call(request, FetchResponse, version=12)

    asyncio.run(story())


# What keeps a node from starting


def test_a_directory_that_another_node_uses_is_refused_and_left_alone(tmp_path: Path) -> None:
    config = formatted(tmp_path / "data")

    async def story(node: Node) -> None:
        with pytest.raises(DataDirectoryError, match="Another node is using the data directory"):
            await Node(config).start()
        assert await with_client(node, list_topics) == []

    run(config, story)


@pytest.mark.parametrize("typed", ["data", "data/", "away/../data"])
def test_a_node_whose_directories_are_removed_gives_up(tmp_path: Path, typed: str) -> None:
    config = formatted(tmp_path, {"log.dirs": f"{tmp_path}/{typed}"})

    async def story() -> str:
        node = Node(config)
        await node.start()
        shutil.rmtree(tmp_path / "data")
        await node.maintenance.write_checkpoints()
        assert node.failed is not None
        assert node.failed.done()
        with pytest.raises(LogDirFailure):
            await node.stop()
        return node.failed.result()

    assert "metadata log is lost" in asyncio.run(story())


@pytest.mark.parametrize("has_metadata_apart", [False, True])
def test_a_metadata_log_that_failed_is_not_closed_cleanly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_metadata_apart: bool
) -> None:
    settings = {"metadata.log.dir": str(tmp_path / "metadata")} if has_metadata_apart else {}
    config = formatted(tmp_path / "data", settings)

    def broken(fd: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    async def story() -> None:
        async with running(config) as node:
            with monkeypatch.context() as patch:
                patch.setattr(os, "fdatasync", broken)
                with pytest.raises(KafkaError):
                    await node.plane.run(lambda _: ControllerResult(None, [NoOpRecord()]))

    asyncio.run(story())
    assert not (tmp_path / "data" / CLEAN_SHUTDOWN_FILE).exists()
    assert use(config, list_topics) == []
    assert (tmp_path / "data" / CLEAN_SHUTDOWN_FILE).exists()


def test_a_directory_of_another_cluster_is_refused(tmp_path: Path) -> None:
    formatted(tmp_path / "a")
    formatted(tmp_path / "b")
    both = NodeConfig.for_development("", 0, {"log.dirs": f"{tmp_path / 'a'},{tmp_path / 'b'}"})
    with pytest.raises(DataDirectoryError, match=r"belongs to cluster .*, not to cluster"):
        asyncio.run(Node(both).start())
    # Refusing must not have locked or changed anything.
    assert use(formatted(tmp_path / "b"), list_topics) == []


def test_a_directory_of_another_node_is_refused(tmp_path: Path) -> None:
    formatted(tmp_path / "data")
    other = NodeConfig.for_development(str(tmp_path / "data"), 0, {"node.id": "7"})
    with pytest.raises(DataDirectoryError, match=r"belongs to node 1, but node\.id is 7"):
        asyncio.run(Node(other).start())


def test_a_directory_that_nobody_formatted_is_refused(tmp_path: Path) -> None:
    config = NodeConfig.for_development(str(tmp_path / "data"))
    with pytest.raises(DataDirectoryError, match="is not formatted: run `headrace storage format`"):
        asyncio.run(Node(config).start())


def test_a_port_that_is_taken_is_one_sentence_and_frees_the_rest(tmp_path: Path) -> None:
    config = formatted(tmp_path / "data")
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        taken = NodeConfig.for_development(
            str(tmp_path / "data"),
            0,
            {"listeners": f"PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:{port}"},
        )
        with pytest.raises(BindError, match=f"Cannot listen on 127.0.0.1:{port}: Address already"):
            asyncio.run(Node(taken).start())
    assert use(config, list_topics) == []


def test_a_metrics_port_that_is_taken_is_told_like_any_other(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        settings = {"headrace.metrics.listener": f"127.0.0.1:{port}"}
        with pytest.raises(BindError, match=f"127.0.0.1:{port}"):
            asyncio.run(Node(formatted(tmp_path / "data", settings)).start())


def test_a_file_in_the_place_of_the_directory_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("not a directory")
    config = NodeConfig.for_development(str(tmp_path / "data"))
    with pytest.raises(DataDirectoryError, match="None of the data directories can be used"):
        asyncio.run(Node(config).start())


def test_a_directory_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    directory = read_only_directory(tmp_path)
    config = NodeConfig.for_development(str(directory))
    with pytest.raises(DataDirectoryError, match="None of the data directories can be used"):
        asyncio.run(Node(config).start())


def test_a_cluster_with_features_that_we_do_not_know_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = formatted(tmp_path / "data")
    use(config, list_topics)
    known = {**SUPPORTED, "group.version": (0, 0)}
    monkeypatch.setattr("headrace.server.metadata_start.SUPPORTED", known)
    with pytest.raises(InvariantBrokenError, match=r"group\.version at level 1"):
        asyncio.run(Node(config).start())


# Several data directories


def test_partitions_are_spread_over_two_directories_and_found_again(tmp_path: Path) -> None:
    settings = {"log.dirs": f"{tmp_path / 'a'},{tmp_path / 'b'}"}

    def first(client: KafkaClient) -> None:
        create_topic(client, "orders", 4, {})
        produce(client, "orders", [b"x"] * 10)

    def second(client: KafkaClient) -> int:
        return sum(len(values(client, "orders", index)) for index in range(4))

    config = formatted(tmp_path / "unused", settings)
    use(config, first)
    for name in ("a", "b"):
        assert len(list((tmp_path / name).glob("orders-*"))) == 2
    assert use(config, second) == 10


def test_a_node_lives_on_with_the_directories_that_work(tmp_path: Path) -> None:
    formatted(tmp_path / "good")
    bad = read_only_directory(tmp_path)
    settings = {"log.dirs": f"{tmp_path / 'good'},{bad}"}
    config = NodeConfig.for_development("", 0, settings)

    async def story(node: Node) -> None:
        assert [directory.online for directory in node.directories] == [True, False]

        def work(client: KafkaClient) -> None:
            create_topic(client, "orders", 2, {})
            produce(client, "orders", [b"x"])

        await with_client(node, work)

    run(config, story)
    assert len(list((tmp_path / "good").glob("orders-*"))) == 2


# As a process


def test_sigterm_is_a_controlled_shutdown(tmp_path: Path) -> None:
    with HeadraceNode(tmp_path / "data") as node:
        with client_of(node.bootstrap) as client:
            create_topic(client, "orders", 1, {})
            produce(client, "orders", [b"a"])
        node.stop()  # fails unless the exit code is 0
        assert (node.directory / CLEAN_SHUTDOWN_FILE).exists()


def test_ctrl_c_is_a_controlled_shutdown_too(tmp_path: Path) -> None:
    with HeadraceNode(tmp_path / "data") as node:
        node.child.process.send_signal(signal.SIGINT)
        assert node.child.process.wait(60) == 0
        assert (node.directory / CLEAN_SHUTDOWN_FILE).exists()


def test_nothing_acknowledged_is_lost_by_kill_9(tmp_path: Path) -> None:
    sent: list[bytes] = []
    with HeadraceNode(tmp_path / "data") as node:
        for generation in range(3):
            with client_of(node.bootstrap) as client:
                if generation == 0:
                    create_topic(client, "orders", 1, {"segment.bytes": "1048576"})
                assert values(client, "orders") == sent
                batch = [b"%d-%d" % (generation, number) for number in range(100)]
                produce(client, "orders", batch)
                sent += batch
            node.kill()
            assert not (node.directory / CLEAN_SHUTDOWN_FILE).exists()
            node.start()
        with client_of(node.bootstrap) as client:
            assert values(client, "orders") == sent


def test_environment_variables_override_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_AUTO_CREATE_TOPICS_ENABLE", "false")
    monkeypatch.setenv("KAFKA_HEAP_OPTS", "-Xmx1G")
    with (
        HeadraceNode(tmp_path / "data", settings={"auto.create.topics.enable": "true"}) as node,
        client_of(node.bootstrap) as client,
    ):
        from headrace.client.metadata import ask_topics

        (topic,) = ask_topics(client.any_node(), ["made-by-asking"], create=True).topics
        assert topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert list_topics(client) == []


def test_what_keeps_a_process_from_starting_is_one_sentence(tmp_path: Path) -> None:
    with HeadraceNode(tmp_path / "data") as node:
        other = HeadraceNode(tmp_path / "data", settings={"listeners": _ANY_PORTS})
        other.work_directory = tmp_path
        other.properties = tmp_path / "other.properties"
        other.write_properties()
        done = headrace("server", "start", str(other.properties), check=False)
        assert done.returncode == 1
        assert f"Another node is using the data directory {node.directory}." in done.stderr
        assert "Traceback" not in done.stderr


def test_up_formats_its_directory_and_says_where_it_listens(tmp_path: Path) -> None:
    command = [*HEADRACE, "up", "--port", "0", "--data", str(tmp_path / "data")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = {}
        for line in process.stdout:
            if line.startswith("Ctrl-C"):
                break
            said[line[:18].strip()] = line[18:].strip()
        with client_of(said["Kafka clients"]) as client:
            assert list_topics(client) == []
        assert said["metrics"].startswith("http://127.0.0.1:")
        assert said["data"] == str(tmp_path / "data")
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0


_ANY_PORTS = "PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0"


def read_only_directory(tmp_path: Path) -> Path:
    """A directory in which nothing can be made, also not by root."""
    if os.geteuid() == 0:
        # The kernel's own file system refuses everybody.
        return Path("/sys/headrace-test") if sys.platform == "linux" else Path("/dev/null/data")
    parent = tmp_path / "read-only"
    parent.mkdir()
    parent.chmod(0o500)
    return parent / "data"
