"""The same pipelines over the same orders, on Headrace and on Apache Kafka: equal output."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from headrace.serde.registry_client import RegistryClient
from headrace.serde.schema import Schema
from headrace.serde.serializer import Serializer
from headrace.spark.pipelines.loading import load_pipelines
from headrace.spark.registry.clients import close_clients
from headrace.testing import EmbeddedKafka
from tests.support import every_kind_of_pipeline as pipelines_file
from tests.support.apache_kafka import ApacheKafka
from tests.support.committed import group_offsets, read_committed
from tests.support.pipeline_runs import PipelineRuns
from tests.support.small_registry import SmallRegistry, small_registry

ORDER = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "fields": [{"name": "customer", "type": "string"}, {"name": "amount", "type": "long"}],
    }
)
PARTITIONS = 3
TOPICS = (
    pipelines_file.ORDERS,
    pipelines_file.VALIDATED,
    pipelines_file.LETTERS,
    pipelines_file.TOTALS,
)
GROUPS = ("validated", "letters", "totals", "files")
#: A record of a topic without its offset, which control records and aborted ones take part in.
Sent = tuple[bytes | None, bytes | None, list[tuple[str, bytes]] | None, tuple[int, int]]


@pytest.fixture
def registry() -> Iterator[SmallRegistry]:
    with small_registry() as found:
        yield found
        close_clients()


def values(registry: SmallRegistry, count: int) -> list[bytes | None]:
    """Orders, among them poison, a schema that nobody knows, half an order and deletions."""
    client = RegistryClient.from_settings({"schema.registry.url": registry.url})
    write = Serializer(client, Schema(ORDER))
    found = [
        write(pipelines_file.ORDERS, {"customer": f"c{n % 17}", "amount": n % 101 - 3})
        for n in range(count)
    ]
    client.close()
    for step, bad in ((29, b"poison"), (31, b"\x00\x00\x00\x00\x63x"), (37, None)):
        found[::step] = [bad] * len(found[::step])
    found[::41] = [value and value[:6] for value in found[::41]]
    return found


def send(servers: str, orders: list[bytes | None], first: int) -> None:
    """Keys, partitions, headers and times depend on the number of the order alone."""
    settings = {"bootstrap.servers": servers, "compression.type": "lz4", "linger.ms": 20}
    producer = Producer(settings)
    for number, value in enumerate(orders, first):
        producer.produce(
            pipelines_file.ORDERS,
            value,
            # Those of one key are in one partition, so that they have an order.
            None if number % 13 == 0 else b"k%d" % (number % (17 * PARTITIONS)),
            number % PARTITIONS,
            timestamp=1_700_000_000_000 + number,
            headers=[("n", b"%d" % number), ("none", None)] if number % 3 else None,
        )
    assert producer.flush(30) == 0


class Cluster:
    """One of the two, with a state directory and a directory of files of its own."""

    def __init__(self, spark: Any, servers: str, directory: Path) -> None:
        self.servers = servers
        self.runs = PipelineRuns(spark, servers, directory / "state")
        self.files = directory / "files"
        admin = AdminClient({"bootstrap.servers": servers})
        for future in admin.create_topics([NewTopic(t, PARTITIONS, 1) for t in TOPICS]).values():
            future.result()

    def run_once(self, monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
        """All pipelines of the file at once; how many rows each has read."""
        monkeypatch.setenv("EVERY_KIND_FILES", str(self.files))
        declared = load_pipelines(pipelines_file.__file__)
        started = [self.runs.start_declared(one, once=True) for one in declared]
        for run in started:
            self.runs.finished(run)
        return {run.pipeline.name: run.status.statistics.rows_in for run in started}

    def records(self, topic: str) -> dict[int, list[Sent]]:
        """What an application reads, by partition."""
        found: dict[int, list[Sent]] = {}
        for message in read_committed(self.servers, topic):
            headers: Any = message.headers()
            row = (message.key(), message.value(), headers, message.timestamp())
            found.setdefault(message.partition() or 0, []).append(row)
        return found

    def offsets_and_lag(self) -> dict[str, list[tuple[int, int]]]:
        """For each group and partition."""
        consumer = Consumer({"bootstrap.servers": self.servers, "group.id": "looker-on"})
        try:
            ends = [
                consumer.get_watermark_offsets(TopicPartition(pipelines_file.ORDERS, index))[1]
                for index in range(PARTITIONS)
            ]
        finally:
            consumer.close()
        found = {}
        for group in GROUPS:
            stands = group_offsets(self.servers, group, pipelines_file.ORDERS, PARTITIONS)
            found[group] = [(stands[n], end - stands[n]) for n, end in enumerate(ends)]
        return found

    def rows(self, spark: Any) -> list[Any]:
        rows = spark.read.parquet(str(self.files)).orderBy("partition", "offset")
        return list(rows.collect())


def by_key(records: dict[int, list[Sent]]) -> dict[Any, list[Any]]:
    """Where tasks take turns at a partition, the order is that of each key.

    Those without a key have none, and go where there was room.
    """
    found: dict[Any, list[Any]] = {}
    for partition, rows in records.items():
        for key, value, headers, _ in rows:
            place = None if key is None else (partition, key)
            found.setdefault(place, []).append((value, headers))
    found.get(None, []).sort(key=repr)
    return found


def test_a_file_of_pipelines_does_the_same_on_both(
    spark: Any,
    apache: ApacheKafka,
    registry: SmallRegistry,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("EVERY_KIND_REGISTRY", registry.url)
    orders = values(registry, 900)
    with EmbeddedKafka({"log.retention.ms": "-1"}) as node:
        ours = Cluster(spark, node.bootstrap_servers, tmp_path / "headrace")
        theirs = Cluster(spark, apache.bootstrap, tmp_path / "apache")
        for first, last in ((0, 600), (600, 900)):
            for cluster in (ours, theirs):
                send(cluster.servers, orders[first:last], first)
                read = cluster.run_once(monkeypatch)
                assert read == dict.fromkeys(GROUPS, last - first)
        validated = ours.records(pipelines_file.VALIDATED)
        assert sum(map(len, validated.values())) > 700
        assert validated == theirs.records(pipelines_file.VALIDATED)
        for topic, least in ((pipelines_file.LETTERS, 60), (pipelines_file.TOTALS, 17 * 3)):
            found = by_key(ours.records(topic))
            assert sum(map(len, found.values())) >= least
            assert found == by_key(theirs.records(topic))
        assert ours.rows(spark) == theirs.rows(spark)
        assert len(ours.rows(spark)) > 700
        stands = ours.offsets_and_lag()
        assert stands == dict.fromkeys(GROUPS, [(300, 0)] * PARTITIONS)
        assert stands == theirs.offsets_and_lag()
