"""The work of one task against a real node, without Spark: Arrow batches in, records out."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("numba")

from headrace.client.blocking import KafkaClient  # noqa: E402
from headrace.client.config import ClientConfig  # noqa: E402
from headrace.client.fetch_request import FetchConfig  # noqa: E402
from headrace.client.fetching import PartitionReader  # noqa: E402
from headrace.client.leaders import find_leaders  # noqa: E402
from headrace.client.partitioner import partition_for_key  # noqa: E402
from headrace.spark.errors import PipelineError  # noqa: E402
from headrace.spark.kept_clients import forget  # noqa: E402
from headrace.spark.sink_options import SinkOptions  # noqa: E402
from headrace.spark.sink_plain import write_plain  # noqa: E402
from headrace.testing import EmbeddedKafka  # noqa: E402

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


@pytest.fixture(scope="module")
def node() -> Iterator[EmbeddedKafka]:
    with EmbeddedKafka({"auto.create.topics.enable": "false"}, in_process=True) as kafka:
        yield kafka
        forget()


def options(node: EmbeddedKafka, topic: str | None, **kafka: str) -> SinkOptions:
    given = {f"kafka.{name.replace('_', '.')}": value for name, value in kafka.items()}
    given["kafka.bootstrap.servers"] = node.bootstrap_servers
    return SinkOptions.parse(given if topic is None else {**given, "topic": topic})


def write(node: EmbeddedKafka, topic: str | None, *batches: Any, **kafka: str) -> int:
    return write_plain(options(node, topic, **kafka), list(batches[0].schema.names), batches)


def places(node: EmbeddedKafka, topic: str, count: int) -> list[tuple[int, bytes | None]]:
    """Partition and value of so many records of a topic."""
    reader = PartitionReader(node.client, FetchConfig())
    reader.assign(dict.fromkeys(find_leaders(node.client, [topic]), 0))
    found: list[tuple[int, bytes | None]] = []
    while len(found) < count:
        for batch in reader.poll(500):
            found += [(batch.partition[1], record.value) for record in batch.records]
    return found


def test_all_columns_arrive_and_nulls_stay_nulls(node: EmbeddedKafka) -> None:
    topic = node.topic()
    when = datetime.datetime(2024, 5, 1, 12, 0, 0, 123_456, tzinfo=datetime.UTC)
    batch = pa.record_batch(
        {
            "key": pa.array(["a", None, ""], pa.string()),
            "value": pa.array([b"x", b"", None], pa.binary()),
            "headers": pa.array([[("h", b"1"), ("n", None)], None, []], HEADERS),
            "timestamp": pa.array([when, None, when], pa.timestamp("us", "UTC")),
        }
    )
    assert write(node, topic, batch) == 3
    rows = node.consume(topic, 3)
    assert [(row.key, row.value) for row in rows] == [(b"a", b"x"), (None, b""), (b"", None)]
    assert [list(row.headers) for row in rows] == [[("h", b"1"), ("n", None)], [], []]
    assert rows[0].timestamp == int(when.timestamp() * 1000)
    assert abs(rows[1].timestamp - when.timestamp() * 1000) > 1_000_000


def test_a_slice_of_a_batch_is_read_from_where_it_begins(node: EmbeddedKafka) -> None:
    topic = node.topic()
    batch = pa.record_batch(
        {
            "value": pa.array([b"0", None, b"22", b"333", b"4"], pa.binary()),
            "headers": pa.array([[("a", b"1")], [], [("b", b"2"), ("c", b"3")], None, []], HEADERS),
        }
    )
    write(node, topic, batch.slice(1, 3))
    rows = node.consume(topic, 3)
    assert [row.value for row in rows] == [None, b"22", b"333"]
    assert [list(row.headers) for row in rows] == [[], [("b", b"2"), ("c", b"3")], []]


@pytest.mark.parametrize("kind", [pa.large_string(), pa.large_binary(), pa.binary_view()])
def test_other_widths_of_arrow_are_the_same_to_a_topic(node: EmbeddedKafka, kind: Any) -> None:
    topic = node.topic()
    write(node, topic, pa.record_batch({"value": pa.array(["a", None, "ccc"], kind)}))
    assert [row.value for row in node.consume(topic, 3)] == [b"a", None, b"ccc"]


def test_batches_of_many_sizes_keep_the_order_of_each_key(node: EmbeddedKafka) -> None:
    topic = node.topic(partitions=3)
    numbers = range(3_000)
    batches = [
        pa.record_batch(
            {
                "key": pa.array([b"k%d" % (n % 7) for n in chunk], pa.binary()),
                "value": pa.array([b"%d:" % n + b"v" * (n % 900) for n in chunk], pa.binary()),
            }
        )
        for chunk in (numbers[:1], numbers[1:2000], numbers[2000:])
    ]
    assert write(node, topic, *batches, batch_size="20000") == 3_000
    seen: dict[bytes, list[int]] = {}
    for row in node.consume(topic, 3_000):
        assert row.key is not None
        assert row.value is not None
        seen.setdefault(row.key, []).append(int(row.value.split(b":")[0]))
    for number in range(7):
        assert seen[b"k%d" % number] == [n for n in numbers if n % 7 == number]


def test_rows_say_their_topic_and_partition_themselves(node: EmbeddedKafka) -> None:
    first, second = node.topic(partitions=3), node.topic(partitions=2)
    batch = pa.record_batch(
        {
            "topic": pa.array([first, second, first, first]),
            "key": pa.array(["a", "a", "b", None]),
            "value": pa.array(["1", "2", "3", "4"]),
            "partition": pa.array([2, None, None, 1], pa.int32()),
        }
    )
    write(node, None, batch)
    expected = [(2, b"1"), (partition_for_key(b"b", 3), b"3"), (1, b"4")]
    assert sorted(places(node, first, 3)) == sorted(expected)
    assert places(node, second, 1) == [(partition_for_key(b"a", 2), b"2")]


def test_rows_without_a_key_are_spread_batch_by_batch(node: EmbeddedKafka) -> None:
    topic = node.topic(partitions=4)
    batch = pa.record_batch({"value": pa.array([b"v" * 1_000] * 500, pa.binary())})
    write(node, topic, batch, batch_size="20000")
    assert len({partition for partition, _ in places(node, topic, 500)}) > 1


def test_a_record_larger_than_a_batch_goes_alone_and_in_its_place(node: EmbeddedKafka) -> None:
    topic = node.topic()
    values = [b"a", b"x" * 60_000, b"b"]
    write(
        node, topic, pa.record_batch({"value": pa.array(values, pa.binary())}), batch_size="20000"
    )
    assert [row.value for row in node.consume(topic, 3)] == values


def test_batches_are_cut_for_a_topic_that_takes_only_small_ones(node: EmbeddedKafka) -> None:
    topic = node.topic(configs={"max.message.bytes": "2000"})
    values = [b"%04d" % n + b"x" * 100 for n in range(300)]
    write(node, topic, pa.record_batch({"value": pa.array(values, pa.binary())}))
    assert [row.value for row in node.consume(topic, 300)] == values


def test_mistakes_are_told_in_one_sentence(node: EmbeddedKafka) -> None:
    topic = node.topic(partitions=2, configs={"max.message.bytes": "50000"})

    def value(size: int = 1, **more: Any) -> Any:
        return pa.record_batch({"value": pa.array([b"x" * size], pa.binary()), **more})

    with pytest.raises(PipelineError, match=r"2000000 bytes do not fit in a request of 1048576"):
        write(node, topic, value(2_000_000))
    with pytest.raises(PipelineError, match=r"too large for its topic.*max.message.bytes"):
        write(node, topic, value(100_000))
    with pytest.raises(PipelineError, match=r"Partition 2 is not one of topic .*, which has 2"):
        write(node, topic, value(partition=pa.array([2], pa.int32())))
    with pytest.raises(PipelineError, match=r"Partition -1 is not one of"):
        write(node, topic, value(partition=pa.array([-1], pa.int32())))
    with pytest.raises(PipelineError, match="column topic is null"):
        write(node, None, value(topic=pa.array([None], pa.string())))
    with pytest.raises(PipelineError, match="Topic absent does not exist"):
        write(node, "absent", value(), max_block_ms="200")
    header = pa.array([[(None, b"v")]], HEADERS)
    with pytest.raises(PipelineError, match="header of a record has no key"):
        write(node, topic, value(headers=header))


def test_the_next_task_of_a_worker_goes_on_with_the_same_producer(
    node: EmbeddedKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    forget()
    made: list[str] = []

    def counted(config: ClientConfig) -> KafkaClient:
        made.append(config.client_id)
        return KafkaClient(config)

    monkeypatch.setattr("headrace.spark.sink_connection.KafkaClient", counted)
    topic = node.topic()
    batch = pa.record_batch({"value": pa.array([b"1", b"2"], pa.binary())})
    for _ in range(3):
        write(node, topic, batch)
    assert len(made) == 1
    with pytest.raises(PipelineError):
        write(node, topic, batch.append_column("partition", pa.array([9, 9], pa.int32())))
    write(node, topic, batch)
    assert len(made) == 2
    assert [row.value for row in node.consume(topic, 8)] == [b"1", b"2"] * 4


def test_a_node_that_restarts_between_two_tasks_is_found_again() -> None:
    batch = pa.record_batch({"value": pa.array([b"1", b"2"], pa.binary())})
    with EmbeddedKafka() as kafka:
        topic = kafka.topic()
        write(kafka, topic, batch)
        kafka.kill()
        kafka.start()
        write(kafka, topic, batch)
        assert [row.value for row in kafka.consume(topic, 4)] == [b"1", b"2"] * 2
        forget()


def test_a_broker_that_is_not_there_is_told_in_one_sentence() -> None:
    parsed = SinkOptions.parse({"kafka.bootstrap.servers": "127.0.0.1:1", "topic": "t"})
    batch = pa.record_batch({"value": pa.array([b"x"])})
    with pytest.raises(PipelineError, match=r"No broker can be reached at 127\.0\.0\.1:1"):
        write_plain(parsed, ["value"], [batch])
