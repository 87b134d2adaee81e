"""Spark's own Kafka connector on a Headrace node: batch and streaming, reading and writing."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.clients.transactional import with_confluent
from tests.support.headrace_node import HeadraceNode, headrace
from tests.support.load import Load
from tests.support.readiness import eventually
from tests.support.reading import Seen, read_topic
from tests.support.spark import (
    Read,
    Written,
    copy_step,
    read_step,
    require_spark,
    run_spark,
    start_spark,
    write_step,
)

PARTITIONS = 3
RECORDS = 60
T0 = 1_700_000_000_000


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HeadraceNode]:
    require_spark()
    settings = {
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "auto.create.topics.enable": "false",
    }
    directory = tmp_path_factory.mktemp("spark") / "data"
    with HeadraceNode(directory, settings=settings) as running:
        yield running


def create(node: HeadraceNode, topic: str, partitions: int = PARTITIONS) -> str:
    headrace(
        *("topics", "--bootstrap-server", node.bootstrap, "--create", "--topic", topic),
        *("--partitions", str(partitions)),
    )
    return topic


def fill(node: HeadraceNode, topic: str, first: int = 0, count: int = RECORDS) -> None:
    """Numbered records, each with its own time, round the partitions."""
    producer = Producer({"bootstrap.servers": node.bootstrap})
    for number in range(first, first + count):
        producer.produce(
            topic,
            b"v%d" % number,
            None if number % 4 == 0 else b"k%d" % number,
            partition=number % PARTITIONS,
            timestamp=T0 + number,
            headers=[("number", b"%d" % number)],
        )
    assert producer.flush(30) == 0


def values(records: list[Seen]) -> list[bytes | None]:
    return [one.value for one in records]


def as_read(topic: str, records: list[Seen], *, headers: bool = False) -> list[Read]:
    return [
        Read(
            *(topic, one.partition, one.offset, one.timestamp[1], one.key, one.value),
            one.headers if headers else (),
        )
        for one in records
    ]


@pytest.mark.timeout(240)
def test_batch_queries_read_what_librdkafka_reads(node: HeadraceNode, tmp_path: Path) -> None:
    topic = create(node, "batch-in")
    fill(node, topic)
    with_confluent(node.bootstrap, "batch", topic, [b"aborted"] * 5, False)
    with_confluent(node.bootstrap, "batch", topic, [b"committed"] * 5, True)
    committed = read_topic(node, topic, partitions=PARTITIONS)
    everything = read_topic(node, topic, partitions=PARTITIONS, committed=False)
    assert len(everything) == len(committed) + 5
    ends = {topic: {"0": 9, "2": -1}}
    everywhere, with_headers, some, later, pattern = run_spark(
        [
            read_step(node, subscribe=topic),
            read_step(
                node,
                subscribe=topic,
                includeHeaders="true",
                kafka__isolation__level="read_committed",
            ),
            read_step(
                node,
                assign=json.dumps({topic: [0, 2]}),
                startingOffsets=json.dumps({topic: {"0": 4, "2": -2}}),
                endingOffsets=json.dumps(ends),
            ),
            read_step(node, subscribe=topic, startingTimestamp=str(T0 + 30)),
            read_step(node, subscribePattern="batch-i.", minPartitions="6"),
        ],
        tmp_path / "batch.out",
    )
    assert everywhere == as_read(topic, everything)
    assert with_headers == as_read(topic, committed, headers=True)
    assert some == [
        one
        for one in as_read(topic, everything)
        if (one.partition == 0 and 4 <= one.offset < 9) or one.partition == 2
    ]
    assert later == [one for one in as_read(topic, everything) if one.timestamp_ms >= T0 + 30]
    assert pattern == everywhere


@pytest.mark.timeout(240)
def test_batch_queries_write_keys_headers_and_partitions(
    node: HeadraceNode, tmp_path: Path
) -> None:
    one, two = create(node, "batch-one"), create(node, "batch-two")
    rows = [
        Written(
            one if number % 2 else two,
            number % PARTITIONS,
            b"k%d" % number if number % 5 else None,
            b"v%d" % number if number % 7 else None,
            (("n", b"%d" % number), ("none", None)),
        )
        for number in range(100)
    ]
    keyed = [Written(one, None, b"same", b"keyed %d" % number) for number in range(20)]
    codecs = ("none", "gzip", "snappy", "lz4", "zstd")
    squeezed = [Written(two, 0, None, codec.encode()) for codec in codecs]
    run_spark(
        [
            write_step(node, rows, includeHeaders="true"),
            write_step(node, keyed, kafka__acks="all"),
            *(
                write_step(node, [row], kafka__compression__type=codec)
                for codec, row in zip(codecs, squeezed, strict=True)
            ),
        ],
        tmp_path / "written.out",
    )
    written = Counter(row[1:] for row in rows)
    written.update(row[1:] for row in squeezed)
    found: Counter[tuple[object, ...]] = Counter()
    places = set()
    for topic in (one, two):
        for seen in read_topic(node, topic, partitions=PARTITIONS):
            if seen.key == b"same":
                places.add((topic, seen.partition))
            else:
                found[seen.partition, seen.key, seen.value, seen.headers] += 1
    assert found == written
    assert len(places) == 1, "one key, one partition"


@pytest.mark.timeout(300)
def test_a_stream_goes_on_from_its_checkpoint(node: HeadraceNode, tmp_path: Path) -> None:
    source, copied, part = create(node, "stream-in"), create(node, "stream-out"), "stream-part"
    create(node, part)
    fill(node, source)
    whole = copy_step(
        node, copied, tmp_path / "whole", subscribe=source, startingOffsets="earliest",
        maxOffsetsPerTrigger="25",
    )  # fmt: skip
    starts = json.dumps({source: {"1": 7, "2": -1}})
    assigned = copy_step(
        node, part, tmp_path / "part", assign=json.dumps({source: [1, 2]}), startingOffsets=starts
    )
    run_spark([whole, whole, assigned], tmp_path / "first.out")
    first = read_topic(node, source, partitions=PARTITIONS)
    assert values(read_topic(node, copied, partitions=PARTITIONS)) == values(first)
    assert values(read_topic(node, part, partitions=PARTITIONS)) == [
        one.value for one in first if one.partition == 1 and one.offset >= 7
    ]

    fill(node, source, RECORDS, RECORDS)
    run_spark([whole, assigned], tmp_path / "second.out")
    second = read_topic(node, source, partitions=PARTITIONS)
    assert values(read_topic(node, copied, partitions=PARTITIONS)) == values(second)
    assert values(read_topic(node, part, partitions=PARTITIONS)) == [
        one.value
        for one in second
        if (one.partition == 1 and one.offset >= 7)
        or (one.partition == 2 and one.offset >= RECORDS // PARTITIONS)
    ]


@pytest.mark.timeout(300)
@pytest.mark.no_second_chance
def test_a_stream_loses_nothing_when_driver_and_node_are_killed(tmp_path: Path) -> None:
    """The connector's sink is at-least-once: a batch may come twice, and none is left out."""
    require_spark()
    settings = {"offsets.topic.replication.factor": "1", "auto.create.topics.enable": "false"}
    with HeadraceNode(tmp_path / "data", settings=settings) as node:
        source, copied = create(node, "live-in"), create(node, "live-out")
        load = Load(node, source, partitions=PARTITIONS, ahead_max=20)
        live = copy_step(
            node, copied, tmp_path / "checkpoint", available_now=False, subscribe=source,
            startingOffsets="earliest", maxOffsetsPerTrigger="3000",
        )  # fmt: skip
        load.start()
        driver = start_spark([live], tmp_path / "live.out")
        try:
            _wait_for_more(node, copied)
            node.kill()
            node.start()
            _wait_for_more(node, copied)
        finally:
            driver.kill()
            driver.wait()
            load.abandon()
        load.finish()
        load.check_all_there_once_and_in_order()
        run_spark([{**live, "available_now": True}], tmp_path / "rest.out")
        read = read_topic(node, source, partitions=PARTITIONS)
        arrived = read_topic(node, copied, partitions=PARTITIONS)
        for partition in range(PARTITIONS):
            wanted = [one.value for one in read if one.partition == partition]
            found = [one.value for one in arrived if one.partition == partition]
            assert list(dict.fromkeys(found)) == wanted


def _wait_for_more(node: HeadraceNode, topic: str) -> None:
    before = len(read_topic(node, topic, partitions=PARTITIONS))
    eventually(
        lambda: len(read_topic(node, topic, partitions=PARTITIONS)) > before + 1000, timeout=120
    )
