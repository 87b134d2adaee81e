"""Where a consumer may begin: anywhere."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from headrace.testing import EmbeddedKafka
from tests.clients.client import Client, Row
from tests.clients.confluent import Confluent

BASE = 1_700_000_000_000


@pytest.fixture(scope="module")
def topic(node: EmbeddedKafka) -> str:
    """Ten batches of ten records, one second between records."""
    name = node.topic(configs={"index.interval.bytes": "1"})
    writer = Confluent(node.bootstrap_servers)
    for batch in range(10):
        rows = [
            Row(b"%d" % number, timestamp=BASE + 1000 * number)
            for number in range(batch * 10, batch * 10 + 10)
        ]
        writer.write(name, rows, codec="lz4")
    return name


@pytest.mark.parametrize("start", [0, 10, 37, 99])
def test_reading_begins_at_the_very_offset_also_inside_a_batch(
    client: Client, topic: str, start: int
) -> None:
    rows = client.read(topic, {0: start}, 100 - start)[0]
    assert [row.offset for row in rows] == list(range(start, 100))
    assert rows[0].value == b"%d" % start


def test_reading_begins_at_a_time(client: Client, topic: str) -> None:
    assert client.offset_at(topic, BASE) == 0
    assert client.offset_at(topic, BASE + 36_500) == 37
    assert client.offset_at(topic, BASE + 99_000) == 99
    assert client.offset_at(topic, 0) == 0


def test_no_record_is_as_late_as_the_future(client: Client, topic: str) -> None:
    assert client.offset_at(topic, BASE + 100_000) in (None, 100)


def test_an_offset_outside_the_log_is_told(client: Client, topic: str) -> None:
    """None of the clients may wait for ever, or begin elsewhere, when told not to reset."""
    with pytest.raises(Exception, match=r"(?i)offset"):
        client.read(topic, {0: 5_000}, 1)


def test_records_deleted_from_the_front_are_gone_for_every_reader(
    every_client: list[Client], node: EmbeddedKafka
) -> None:
    name = node.topic()
    every_client[0].write(name, [Row(b"%d" % number) for number in range(10)])
    admin = AdminClient({"bootstrap.servers": node.bootstrap_servers})
    (deleted,) = admin.delete_records([TopicPartition(name, 0, 4)]).values()
    assert deleted.result(30).low_watermark == 4
    for client in every_client:
        assert client.offsets(name) == (4, 10)
        assert [row.value for row in client.read(name, {0: 4}, 6)[0]] == [
            b"%d" % number for number in range(4, 10)
        ]


def test_a_consumer_that_waits_gets_what_is_written_later(
    client: Client, node: EmbeddedKafka
) -> None:
    name = node.topic()
    with ThreadPoolExecutor(1) as threads:
        reading = threads.submit(client.read, name, {0: 0}, 2)
        client.write(name, [Row(b"first")])
        client.write(name, [Row(b"second")])
        assert [row.value for row in reading.result(60)[0]] == [b"first", b"second"]
