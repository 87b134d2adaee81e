"""What each client writes, each client reads: every codec, acks, nulls, headers, sizes."""

from __future__ import annotations

import pytest

from headrace.testing import EmbeddedKafka
from tests.clients.client import Client, Row

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


def sample(count: int = 60) -> list[Row]:
    """Keys, values and headers of all kinds, some of them absent (not all clients allow both)."""
    return [
        Row(
            value=None if number % 7 == 3 else b"value %d " % number * (number % 40),
            key=None if number % 7 == 4 else b"key-%d" % number,
            headers=(("trace", b"%d" % number), ("trace", b""), ("ünï", b"\x00\xff"))
            if number % 3 == 0
            else (),
            timestamp=1_700_000_000_000 + number,
        )
        for number in range(count)
    ]


def numbered(rows: list[Row], start: int = 0) -> list[Row]:
    return [row.at(start + index) for index, row in enumerate(rows)]


def test_every_codec_of_a_client_is_read_by_every_client(
    client: Client, every_client: list[Client], node: EmbeddedKafka
) -> None:
    topic = node.topic(partitions=len(CODECS))
    rows = sample()
    for partition, codec in enumerate(CODECS):
        offsets = client.write(topic, rows, partition=partition, codec=codec)
        assert offsets == list(range(len(rows)))
    starts = dict.fromkeys(range(len(CODECS)), 0)
    for reader in every_client:
        found = reader.read(topic, starts, len(rows) * len(CODECS))
        for partition, codec in enumerate(CODECS):
            assert found[partition] == numbered(rows), (codec, reader.name)


@pytest.mark.parametrize("acks", [0, 1, -1])
def test_every_kind_of_acknowledgement_stores_the_records(
    client: Client, acks: int, node: EmbeddedKafka
) -> None:
    topic = node.topic()
    rows = sample(20)
    client.write(topic, rows, acks=acks)
    assert client.read(topic, {0: 0}, len(rows))[0] == numbered(rows)
    assert client.offsets(topic) == (0, len(rows))


def test_an_idempotent_producer_stores_each_record_once(
    client: Client, node: EmbeddedKafka
) -> None:
    topic = node.topic(partitions=2)
    rows = sample(200)
    for partition in (0, 1):
        client.write(topic, rows, partition=partition, idempotent=True)
    # A second producer has an id of its own and goes on behind the first.
    client.write(topic, rows, idempotent=True)
    found = client.read(topic, {0: 0, 1: 0}, 600)
    assert found[0] == numbered(rows + rows)
    assert found[1] == numbered(rows)


@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_a_large_record_comes_back_whole(client: Client, codec: str, node: EmbeddedKafka) -> None:
    topic = node.topic(configs={"max.message.bytes": "6000000"})
    large = [Row(bytes(range(256)) * 20_000, b"large"), Row(b"small", b"next")]
    client.write(topic, large, codec=codec, max_bytes=6_000_000)
    assert client.read(topic, {0: 0}, 2)[0] == numbered(large)


def test_an_append_time_topic_puts_the_brokers_time_in_place_of_the_producers(
    client: Client, node: EmbeddedKafka
) -> None:
    topic = node.topic(configs={"message.timestamp.type": "LogAppendTime"})
    client.write(topic, [Row(b"x", timestamp=1_000)], codec="lz4")
    (row,) = client.read(topic, {0: 0}, 1)[0]
    assert row.timestamp > 1_700_000_000_000


def test_a_topics_own_codec_replaces_the_producers(
    client: Client, every_client: list[Client], node: EmbeddedKafka
) -> None:
    rows = sample(30)
    topic = node.topic(configs={"compression.type": "zstd"})
    client.write(topic, rows, codec="gzip")
    for reader in every_client:
        assert reader.read(topic, {0: 0}, len(rows))[0] == numbered(rows)
