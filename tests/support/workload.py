"""Topics of every kind, filled in rounds, to be read again on another node or in another life."""

from collections.abc import Mapping

from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.support.node import Node
from tests.support.readiness import eventually
from tests.support.reading import Seen, read_topic, read_topics

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
T0 = 1_700_000_000_000

#: Settings under which a node compacts within a moment.
EAGER_CLEANER = {"log.cleaner.backoff.ms": "100", "log.cleaner.dedupe.buffer.size": "2097152"}
#: Settings under which a node leaves compacted topics as they are.
NO_CLEANER = {"log.cleaner.enable": "false"}

_SMALL = {"internal.segment.bytes": "16000", "index.interval.bytes": "300"}
_COMPACT = {**_SMALL, "cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"}

_TOPICS: dict[str, dict[str, str]] = {
    **{f"codec-{codec}": {} for codec in CODECS},
    "segmented": _SMALL,
    "compacted": {**_COMPACT, "delete.retention.ms": "86400000"},
    "compacted-lz4": {**_COMPACT, "compression.type": "lz4"},
    "stamped": {**_SMALL, "message.timestamp.type": "LogAppendTime"},
    "cut": _SMALL,
    "idempotent": _SMALL,
    "wide": {},
}
_PARTITIONS = {"wide": 3}
COMPACTED = ("compacted", "compacted-lz4")
_KEYS = 25
_RECORDS = 600

Contents = dict[str, list[Seen]]


def create_topic(
    node: Node, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None
) -> None:
    """One topic, with one replica."""
    admin = AdminClient({"bootstrap.servers": node.bootstrap, "log_level": 0})
    topic = NewTopic(name, partitions, 1, config=dict(configs or {}))
    admin.create_topics([topic])[name].result(30)


def create_topics(node: Node) -> None:
    """All topics of the workload."""
    for name, configs in _TOPICS.items():
        # Timestamps are fixed and old, so nothing may go for its age.
        kept = {"retention.ms": "-1", **configs}
        create_topic(node, name, _PARTITIONS.get(name, 1), kept)


def write_round(node: Node, number: int) -> None:
    """Some hundred records to every topic, others in every round."""
    for codec in CODECS:
        _write(node, f"codec-{codec}", number, {"compression.type": codec})
    _write(node, "segmented", number, {"batch.num.messages": 7})
    _write(node, "stamped", number, {"batch.num.messages": 7})
    _write(node, "cut", number, {"batch.num.messages": 7})
    _write(node, "wide", number, {"partitioner": "murmur2_random"})
    _write(node, "idempotent", number, {"enable.idempotence": True, "batch.num.messages": 7})
    for topic in COMPACTED:
        _write(node, topic, number, {"batch.num.messages": 5}, keys=_KEYS)
    _cut(node, "cut", _RECORDS * number + _RECORDS // 2)


def _write(
    node: Node, topic: str, number: int, options: dict[str, object], keys: int | None = None
) -> None:
    producer = Producer(
        {"bootstrap.servers": node.bootstrap, "linger.ms": 20, "log_level": 0, **options}
    )
    for index in range(_RECORDS):
        n = number * _RECORDS + index
        # Every ninth record of a compacted topic takes its key away.
        value = None if keys and n % 9 == 0 else b"value %d " % n + b"x" * (n % 60)
        producer.produce(
            topic,
            value,
            b"key %d" % (n % keys if keys else n),
            timestamp=T0 + n + (n * 7) % 50,
            headers=[("number", b"%d" % n), ("nothing", None)],
        )
    assert producer.flush(60) == 0


def _cut(node: Node, topic: str, offset: int) -> None:
    admin = AdminClient({"bootstrap.servers": node.bootstrap, "log_level": 0})
    partition = TopicPartition(topic, 0, offset)
    admin.delete_records([partition])[partition].result(30)


def wait_until_compacted(node: Node, number: int) -> None:
    """Until a record below the last segments has gone from every compacted topic."""
    written = (number + 1) * _RECORDS
    for topic in COMPACTED:
        eventually(lambda topic=topic: len(read_topic(node, topic)) < written // 2)  # type: ignore[misc]


def contents(node: Node) -> Contents:
    """Every record of every topic."""
    return read_topics(node, {topic: _PARTITIONS.get(topic, 1) for topic in _TOPICS})


def check_round(found: Contents, number: int) -> None:
    """What must be there after rounds 0 to `number`, whoever serves it."""
    count = (number + 1) * _RECORDS
    for topic, records in found.items():
        numbers = [int(record.headers[0][1] or b"") for record in records]
        if topic == "cut":
            assert numbers == list(range(number * _RECORDS + _RECORDS // 2, count)), topic
        elif topic == "wide":
            assert sorted(numbers) == list(range(count)), topic
        elif topic in COMPACTED:
            assert {r.key: r.value for r in records}.items() >= _latest(count).items(), topic
            assert [r.offset for r in records] == numbers, topic
        else:
            assert numbers == list(range(count)), topic
            assert [r.offset for r in records] == numbers, topic


def _latest(count: int) -> dict[bytes, bytes]:
    """The value that each key of a compacted topic has in the end, if it has one."""
    found: dict[bytes, bytes | None] = {}
    for n in range(count):
        found[b"key %d" % (n % _KEYS)] = None if n % 9 == 0 else b"value %d " % n + b"x" * (n % 60)
    return {key: value for key, value in found.items() if value is not None}
