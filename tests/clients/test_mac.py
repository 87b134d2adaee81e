"""A node on what Python offers on a Mac, with a real client.

There is no Mac here: `tests/support/mac/sitecustomize.py` says what takes its place.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest
from confluent_kafka import Consumer, Message, Producer, TopicPartition

import headrace
from headrace.testing import EmbeddedKafka
from headrace.testing.node_handle import NodeStartError
from tests.support import mac
from tests.support.readiness import eventually

_RECORDS = 60
_VALUE_BYTES = 100_000


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nodes that are started in this test believe that they are on a Mac, and write here."""
    path = tmp_path / "notes"
    package_root = Path(headrace.__file__).parents[1]
    monkeypatch.setenv("HEADRACE_STAND_IN", str(path))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([*map(str, mac.__path__), str(package_root)]))
    return path


@pytest.fixture
def kafka(notes: Path) -> Iterator[EmbeddedKafka]:
    with EmbeddedKafka({"headrace.metrics.listener": "127.0.0.1:0"}) as node:
        yield node


def _value(number: int) -> bytes:
    return number.to_bytes(4, "big") * (_VALUE_BYTES // 4)


def _produce(kafka: EmbeddedKafka, topic: str, pairs: list[tuple[bytes, bytes]]) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "acks": "all"})
    for key, value in pairs:
        producer.produce(topic, value, key)
    assert producer.flush(30) == 0


def _consume(kafka: EmbeddedKafka, topic: str) -> list[tuple[bytes, bytes]]:
    """Everything there is, in answers of many megabytes."""
    consumer = Consumer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "group.id": "reader",
            "enable.partition.eof": True,
            "fetch.message.max.bytes": 50_000_000,
        }
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    found: list[Message] = []
    while (message := consumer.poll(30)) is not None and message.error() is None:
        found.append(message)
    consumer.close()
    return [(message.key() or b"", message.value() or b"") for message in found]


@pytest.mark.no_second_chance
def test_large_answers_a_second_node_a_crash_and_a_restart_without_uvloop(
    kafka: EmbeddedKafka, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = kafka.topic()
    sent = [(b"%d" % number, _value(number)) for number in range(_RECORDS)]
    _produce(kafka, topic, sent)
    assert _consume(kafka, topic) == sent
    with urlopen(f"http://{kafka.metrics_address}/metrics", timeout=10) as page:
        assert b"process_cpu_seconds_total" in page.read()

    second = EmbeddedKafka(data_dir=kafka.data_dir)
    with pytest.raises(NodeStartError, match="Another node is using the data directory"):
        second.start()
    second.close()

    kafka.kill()
    kafka.start()
    assert _consume(kafka, topic) == sent
    monkeypatch.setenv("HEADRACE_WITHOUT_UVLOOP", "yes")
    kafka.restart()
    assert _consume(kafka, topic) == sent

    said = notes.read_text()
    assert "full sync" in said
    assert "open files: 10240" in said


def test_the_process_that_compacts(kafka: EmbeddedKafka, notes: Path) -> None:
    topic = kafka.topic(
        configs={
            "cleanup.policy": "compact",
            "segment.bytes": "1048576",
            "min.cleanable.dirty.ratio": "0",
        }
    )
    pairs = [(b"%d" % (number % 7), _value(number)) for number in range(_RECORDS)]
    _produce(kafka, topic, pairs)

    def is_compacted() -> bool:
        kafka.advance(20)  # the cleaner looks every 15 s
        return len(_consume(kafka, topic)) < _RECORDS // 2

    eventually(is_compacted)
    assert dict(_consume(kafka, topic)) == dict(pairs)
    assert "headrace.server.helper_main" in notes.read_text()
