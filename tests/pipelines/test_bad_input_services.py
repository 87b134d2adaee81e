"""What a pipeline needs and does not find: a broker, a registry, a database; or its own double."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.cli.main import main
from headrace.client.transactions import TransactionClient
from headrace.serde.registry_client import RegistryClient
from headrace.serde.schema import Schema
from headrace.serde.serializer import Serializer
from headrace.spark.registry.clients import close_clients
from headrace.testing import EmbeddedKafka
from tests.support.committed import committed_values
from tests.support.pipeline_runs import Function, PipelineRuns
from tests.support.postgres_server import PostgresServer
from tests.support.small_registry import SmallRegistry, small_registry

ORDER = json.dumps({"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]})


@pytest.fixture
def runs(spark: Any, node: EmbeddedKafka, tmp_path: Path) -> Iterator[PipelineRuns]:
    found = PipelineRuns(spark, node.bootstrap_servers, tmp_path / "state")
    yield found
    found.close()


def events(spark: Any, topic: str) -> Any:
    reader = spark.readStream.format("headrace").option("subscribe", topic)
    return reader.option("startingOffsets", "earliest").load()


def copying(source: str, target: str) -> Function:
    def function(spark: Any) -> Any:
        from headrace.spark.topic_output import to_topic

        rows = events(spark, source).select("key", "value")
        return to_topic(rows, topic=target, exactly_once=True)

    return function


def produce(node: EmbeddedKafka, topic: str, numbers: range) -> None:
    node.produce(topic, [str(number) for number in numbers])


@pytest.mark.no_second_chance
def test_a_node_that_is_away_for_a_while_costs_an_exactly_once_pipeline_nothing(
    runs: PipelineRuns, node: EmbeddedKafka
) -> None:
    source, target = node.topic(partitions=2), node.topic(partitions=2)
    run = runs.start("copy", copying(source, target))
    produce(node, source, range(500))
    runs.wait(run, lambda: sum(node.committed("copy").values()) == 500)
    node.stop()
    runs.wait(run, lambda: run.status.restarts > 0)
    node.start()
    produce(node, source, range(500, 1_000))
    runs.wait(run, lambda: sum(node.committed("copy").values()) == 1_000)
    runs.stop(run)
    assert "127.0.0.1" in runs.told[0]
    assert "Trying again in" in runs.told[0]
    assert any("copy: goes on with batch" in told for told in runs.told)
    assert committed_values(node.bootstrap_servers, target) == Counter(range(1_000))


@pytest.mark.no_second_chance
def test_a_run_whose_transactional_id_was_taken_ends_and_can_be_started_again(
    runs: PipelineRuns, node: EmbeddedKafka
) -> None:
    source, target = node.topic(partitions=2), node.topic(partitions=2)
    run = runs.start("taken", copying(source, target))
    produce(node, source, range(100))
    runs.wait(run, lambda: sum(node.committed("taken").values()) == 100)
    TransactionClient(node.client, f"headrace.taken.{target}").begin()
    produce(node, source, range(100, 200))
    told = runs.failure_of(run)
    assert told.startswith(
        f"Another run has taken over the transactional id headrace.taken.{target}"
    )
    runs.finish("taken", copying(source, target))
    assert committed_values(node.bootstrap_servers, target) == Counter(range(200))


@pytest.mark.no_second_chance
def test_of_two_runs_with_checkpoints_of_their_own_one_writes_each_record(
    runs: PipelineRuns, node: EmbeddedKafka, tmp_path: Path
) -> None:
    """As on two machines, which know of each other by the group alone."""
    source, target = node.topic(partitions=2), node.topic(partitions=2)
    here, there = str(tmp_path / "here"), str(tmp_path / "there")
    copy = copying(source, target)
    calls: list[int] = []

    def overtaken(spark: Any) -> Any:
        calls.append(len(calls))
        if len(calls) == 2:
            # This run has looked where the group stands; now the other one goes on.
            produce(node, source, range(200, 300))
            runs.finish("twins", copy, state=there)
        return copy(spark)

    produce(node, source, range(200))
    runs.finish("twins", copy, state=there)
    told = runs.fail("twins", overtaken, state=here)
    assert told.startswith("Another run has gone on with group twins and stands at offset ")
    assert main(["pipelines", "reset", "twins", "--state", "--state-dir", here]) == 0
    produce(node, source, range(300, 400))
    runs.finish("twins", copy, state=here)
    # Now the other's checkpoint is behind, though nobody has moved the group.
    told = runs.fail("twins", copy, state=there)
    assert "Another run has gone on with group twins" in told
    assert committed_values(node.bootstrap_servers, target) == Counter(range(400))


def test_a_database_that_is_down_is_waited_for(
    runs: PipelineRuns, node: EmbeddedKafka, tmp_path: Path
) -> None:
    from headrace.spark.stores.postgres import to_postgres
    from headrace.spark.stores.retrying import Retries

    topic = node.topic(partitions=2)

    def function(spark: Any) -> Any:
        rows = events(spark, topic).selectExpr("cast(cast(value as string) as int) as n")
        return to_postgres(rows, "numbers", dsn=postgres.dsn, create=True, retries=Retries(0))

    with PostgresServer() as postgres:
        run = runs.start("numbers", function)
        produce(node, topic, range(100))
        runs.wait(run, lambda: sum(node.committed("numbers").values()) == 100)
        postgres.stop()
        produce(node, topic, range(100, 200))
        runs.wait(run, lambda: run.status.restarts > 0)
        assert f"PostgreSQL at 127.0.0.1:{postgres.port}/postgres" in str(run.status.last_error)
        assert sum(node.committed("numbers").values()) == 100
        postgres.start()
        runs.wait(run, lambda: sum(node.committed("numbers").values()) == 200)
        runs.stop(run)
        assert postgres.query("SELECT n FROM numbers ORDER BY n") == [(n,) for n in range(200)]


def orders(
    registry: SmallRegistry, numbers: range, schema: str = ORDER
) -> list[bytes | str | None]:
    client = RegistryClient.from_settings({"schema.registry.url": registry.url})
    write = Serializer(client, Schema(schema))
    try:
        return [write("orders", {"id": number}) for number in numbers]
    finally:
        client.close()


@pytest.fixture
def registry() -> Iterator[SmallRegistry]:
    with small_registry() as found:
        yield found
        close_clients()


def decoding(
    topic: str, registry: SmallRegistry, seen: list[int | None], on_error: str
) -> Function:
    def each(batch: Any, batch_id: int) -> None:
        seen.extend(row.id for row in batch.collect())

    def function(spark: Any) -> Any:
        from headrace.spark.registry.functions import from_registry

        order = from_registry("value", topic="orders", url=registry.url, on_error=on_error)
        rows = events(spark, topic).select(order.alias("order")).select("order.id")
        return rows.writeStream.foreachBatch(each)

    return function


def test_schemas_that_cannot_be_read_and_values_that_are_none(
    runs: PipelineRuns, node: EmbeddedKafka, registry: SmallRegistry
) -> None:
    topic, seen = node.topic(), list[int | None]()
    strict, lenient = (decoding(topic, registry, seen, how) for how in ("fail", "null"))
    assert "Subject 'orders-value' not found." in runs.fail("orders", strict)
    good = orders(registry, range(5))
    node.produce(topic, good)
    runs.finish("orders", strict)
    node.produce(topic, [b"\x00\x00\x00\x00\x63poison", *good])
    assert "The registry does not know schema 99." in runs.fail("orders", strict)
    assert node.committed("orders") == {(topic, 0): 5}
    runs.finish("orders", lenient)
    assert seen == [*range(5), None, *range(5)]
    registry.add("orders-value", {"schema": "{"})
    assert "schema" in runs.fail("orders", lenient)
    assert node.committed("orders") == {(topic, 0): 11}


@pytest.mark.parametrize("trouble", [0, 503], ids=["silent", "in trouble"])
def test_a_registry_that_is_away_is_waited_for(
    runs: PipelineRuns, node: EmbeddedKafka, registry: SmallRegistry, trouble: int
) -> None:
    topic, seen = node.topic(), list[int | None]()
    node.produce(topic, orders(registry, range(5)))
    run = runs.start("waiting", decoding(topic, registry, seen, "fail"))
    runs.wait(run, lambda: len(seen) == 5)
    other = json.loads(ORDER) | {"doc": "of another producer"}
    more = orders(registry, range(5, 10), json.dumps(other))
    registry.trouble, registry.is_away = trouble, not trouble
    node.produce(topic, more)
    # The schema of the new records is not known yet, nor can the query be made again now.
    runs.wait(run, lambda: run.status.restarts > 1)
    assert "The schema registry does not answer" in str(run.status.last_error)
    registry.trouble, registry.is_away = 0, False
    runs.wait(run, lambda: len(seen) >= 10)
    runs.stop(run)
    assert seen == list(range(10))
    assert node.committed("waiting")[topic, 0] == 10
