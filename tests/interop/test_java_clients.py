"""The Java producer and the assigned Java consumer on a Headrace node, with every codec."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from headrace.records.batch import iter_headers
from headrace.records.codecs import Codec
from tests.support.headrace_node import HeadraceNode
from tests.support.java_client import Consumed, JavaClient, numbered
from tests.support.workload import create_topic

#: Names of `compression.type` at a topic.
_TARGETS = {
    "uncompressed": Codec.NONE,
    "gzip": Codec.GZIP,
    "snappy": Codec.SNAPPY,
    "lz4": Codec.LZ4,
    "zstd": Codec.ZSTD,
}
#: Large enough for several blocks of any codec in one batch.
_LARGE = {"batch_size": "500000", "linger_ms": "500"}


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HeadraceNode]:
    with HeadraceNode(tmp_path_factory.mktemp("java") / "data") as running:
        yield running


def _create(node: HeadraceNode, topic: str, **configs: str) -> None:
    create_topic(node, topic, 1, {name.replace("_", "."): text for name, text in configs.items()})


def _codecs_on_disk(node: HeadraceNode, topic: str) -> set[int]:
    data = b"".join(
        segment.read_bytes() for segment in Path(node.directory, f"{topic}-0").glob("*.log")
    )
    return {header.codec for _, header in iter_headers(data)}


def _essence(records: list[Consumed]) -> list[tuple[int, bytes | None, bytes | None]]:
    return [(record.offset, record.key, record.value) for record in records]


@pytest.mark.parametrize("codec", Codec, ids=lambda codec: codec.name.lower())
def test_java_reads_what_java_wrote(
    codec: Codec, node: HeadraceNode, java_client: JavaClient
) -> None:
    name = codec.name.lower()
    topic = f"java-{name}"
    _create(node, topic)
    small = java_client.produce(node, topic, 0, 10, compression_type=name, batch_size="0")
    large = java_client.produce(node, topic, 10, 4_000, compression_type=name, **_LARGE)
    assert small + large == list(range(4_010))
    read = java_client.consume(node, topic, 4_010)
    assert _essence(read) == [numbered(number, number) for number in range(4_010)]
    assert read[17].headers == (("number", b"17"),)
    assert _codecs_on_disk(node, topic) == {codec}


@pytest.mark.parametrize("produced", ["none", "gzip", "lz4"])
@pytest.mark.parametrize("target", _TARGETS)
def test_java_reads_what_headrace_recompressed(
    target: str, produced: str, node: HeadraceNode, java_client: JavaClient
) -> None:
    topic = f"{produced}-to-{target}"
    _create(node, topic, compression_type=target)
    java_client.produce(node, topic, 0, 1, compression_type=produced)
    java_client.produce(node, topic, 1, 3_000, compression_type=produced, **_LARGE)
    read = java_client.consume(node, topic, 3_001)
    assert _essence(read) == [numbered(number, number) for number in range(3_001)]
    assert _codecs_on_disk(node, topic) == {_TARGETS[target]}


@pytest.mark.parametrize(
    "configs",
    [
        {"compression_type": "gzip", "compression_gzip_level": "9"},
        {"compression_type": "lz4", "compression_lz4_level": "1"},
        {"compression_type": "zstd", "compression_zstd_level": "19"},
    ],
    ids=lambda configs: configs["compression_type"],
)
def test_java_reads_batches_of_every_level_with_the_time_of_append(
    configs: dict[str, str], node: HeadraceNode, java_client: JavaClient
) -> None:
    topic = f"levels-{configs['compression_type']}"
    _create(node, topic, message_timestamp_type="LogAppendTime", **configs)
    java_client.produce(node, topic, 0, 2_000, **_LARGE)
    read = java_client.consume(node, topic, 2_000)
    assert _essence(read) == [numbered(number, number) for number in range(2_000)]
    assert {record.timestamp_type for record in read} == {"LogAppendTime"}
    assert read[0].timestamp > 0


@pytest.mark.parametrize("target", _TARGETS)
def test_java_reads_nulls_and_headers_that_librdkafka_wrote_and_headrace_recompressed(
    target: str, node: HeadraceNode, java_client: JavaClient
) -> None:
    topic = f"odd-{target}"
    _create(node, topic, compression_type=target)
    producer = Producer({"bootstrap.servers": node.bootstrap, "compression.type": "snappy"})
    producer.produce(topic, value=None, key=b"only a key", timestamp=5)
    producer.produce(topic, value=b"", key=b"", headers=[("a", b""), ("a", None), ("ü", b"1")])
    producer.produce(topic, value=b"x" * 300_000)
    assert producer.flush(20) == 0
    first, second, third = java_client.consume(node, topic, 3)
    assert (first.key, first.value, first.timestamp) == (b"only a key", None, 5)
    assert (second.key, second.value) == (b"", b"")
    assert second.headers == (("a", b""), ("a", None), ("ü", b"1"))
    assert third.value == b"x" * 300_000


def test_fetches_smaller_than_a_batch_still_get_through_the_topic(
    node: HeadraceNode, java_client: JavaClient
) -> None:
    _create(node, "small-fetches")
    java_client.produce(node, "small-fetches", 0, 3_000, batch_size="1000")
    read = java_client.consume(
        node, "small-fetches", 3_000, max_partition_fetch_bytes="500", fetch_max_bytes="700"
    )
    assert _essence(read) == [numbered(number, number) for number in range(3_000)]
