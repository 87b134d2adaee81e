"""Where a consumer may begin: anywhere."""

from __future__ import annotations

import pytest

from headrace.testing import EmbeddedKafka
from tests.clients.client import Client, Row

BASE = 1_700_000_000_000


@pytest.fixture
def topic(client: Client, node: EmbeddedKafka) -> str:
    """Ten batches of ten records, one second between records."""
    name = node.topic(configs={"index.interval.bytes": "1"})
    for batch in range(10):
        rows = [
            Row(b"%d" % number, timestamp=BASE + 1000 * number)
            for number in range(batch * 10, batch * 10 + 10)
        ]
        client.write(name, rows, codec="lz4")
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


def test_a_waiting_consumer_gets_what_comes_later(client: Client, topic: str) -> None:
    low, high = client.offsets(topic)
    assert (low, high) == (0, 100)
    client.write(topic, [Row(b"late")])
    assert client.read(topic, {0: high}, 1)[0][0].value == b"late"
