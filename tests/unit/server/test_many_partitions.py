"""Topics of many partitions on a real node: nobody waits for their logs, and none is lost."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

from headrace.client.blocking import KafkaClient
from headrace.server.node import Node
from headrace.testing.topics import create_topic, delete_topics
from tests.support.headrace_node import HeadraceNode
from tests.support.raw_producer import RawProducer, numbered_batch
from tests.support.readiness import eventually
from tests.support.talk import client_of, consume, produce
from tests.unit.server.nodes import formatted, run, with_client

MANY = 1_000
LAST = MANY - 1


def directories(data: Path, pattern: str) -> int:
    return sum(1 for _ in data.glob(pattern))


def test_a_request_is_served_between_the_slices_of_a_large_topic(tmp_path: Path) -> None:
    async def story(node: Node) -> None:
        def work(client: KafkaClient) -> int:
            create_topic(client, "many", MANY, {})
            with RawProducer(node.bootstrap) as producer:
                sent = producer.send("many", numbered_batch(0, 3), partition=LAST)
                assert sent.error_code == 0
            return len(consume(client, "many", LAST))

        made_meanwhile: set[int] = set()

        async def watch() -> None:
            while len(made_meanwhile) < 1 or max(made_meanwhile) < MANY:
                made_meanwhile.add(len(node.logs.logs))
                await asyncio.sleep(0)

        watching = asyncio.create_task(watch())
        assert await with_client(node, work) == 3
        await watching
        # The loop turned again and again while the logs were made.
        assert len(made_meanwhile) > 20

    run(formatted(tmp_path / "data"), story)


def test_logs_that_a_kill_prevented_are_made_by_the_next_start(tmp_path: Path) -> None:
    with HeadraceNode(tmp_path / "data") as node:
        with client_of(node.bootstrap) as client:
            create_topic(client, "many", MANY, {})
            node.kill()
        node.start()
        with client_of(node.bootstrap) as client, RawProducer(node.bootstrap) as producer:
            for index in (0, LAST):
                sent = producer.send("many", numbered_batch(0, 3), partition=index)
                assert sent.error_code == 0
                assert len(consume(client, "many", index)) == 3
            eventually(lambda: directories(tmp_path / "data", "many-*") == MANY)
    assert directories(tmp_path / "data", "many-*") == MANY


def test_a_large_topic_that_is_deleted_just_before_the_stop_is_gone_after_it(
    tmp_path: Path,
) -> None:
    data = tmp_path / "data"

    async def story(node: Node) -> None:
        def work(client: KafkaClient) -> None:
            create_topic(client, "many", MANY, {})
            delete_topics(client, ["many"])
            create_topic(client, "many", 1, {})
            produce(client, "many", [b"new"])

        await with_client(node, work)

    async def again(node: Node) -> None:
        records = await with_client(node, lambda client: consume(client, "many"))
        assert [record.value for record in records] == [b"new"]
        assert len(node.partitions) == 1

    run(formatted(data), story)
    assert directories(data, "many-*") == 1 + directories(data, "many-*-delete")
    run(formatted(data), again)
    assert directories(data, "*-stray") == 0


def test_a_directory_that_a_kill_left_without_a_topic_id_is_taken_for_its_partition(
    tmp_path: Path,
) -> None:
    data = tmp_path / "data"
    with HeadraceNode(data) as node:
        with client_of(node.bootstrap) as client:
            create_topic(client, "t", 3, {})
        node.kill()
        for index in (1, 2):
            shutil.rmtree(data / f"t-{index}")
            (data / f"t-{index}").mkdir()
        (data / "t-2" / "partition.metadata").touch()
        node.start()
        with client_of(node.bootstrap) as client, RawProducer(node.bootstrap) as producer:
            for index in range(3):
                sent = producer.send("t", numbered_batch(0, 3), partition=index)
                assert sent.error_code == 0
                assert len(consume(client, "t", index)) == 3
    assert directories(data, "t-*") == 3
    assert (
        len({(data / f"t-{index}" / "partition.metadata").read_text() for index in range(3)}) == 1
    )
