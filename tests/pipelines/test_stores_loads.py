"""Loads of a topic to Parquet: each record once, however often and however rudely they run."""

import datetime
import json
from pathlib import Path
from typing import Any

import pyarrow.dataset
import pytest
from confluent_kafka import Producer

from headrace.spark.errors import DataLossError, PipelineError
from headrace.spark.stores.topic_loads import load_topic
from headrace.testing import EmbeddedKafka
from tests.support.apache_kafka import ApacheKafka
from tests.support.pipelines_command import PipelinesCommand

pytestmark = pytest.mark.no_second_chance


def read(path: Path) -> list[dict[str, Any]]:
    table = pyarrow.dataset.dataset(path, format="parquet", partitioning="hive").to_table()
    rows: list[dict[str, Any]] = table.to_pylist()
    return sorted(rows, key=lambda row: (row["partition"], row["offset"]))


def test_each_load_takes_what_came_since_the_last_and_tells_the_group(
    spark: Any, node: EmbeddedKafka, tmp_path: Path
) -> None:
    topic = node.topic(partitions=3)
    out = tmp_path / "out"
    options: dict[str, Any] = {"bootstrap": node.bootstrap_servers, "group": f"load-{topic}"}
    node.produce(topic, [b"v%d" % n for n in range(100)], [b"k%d" % n for n in range(100)])
    first = load_topic(spark, topic, str(out), **options)
    assert first.offsets == 100
    assert first.files == 1
    assert load_topic(spark, topic, str(out), **options).offsets == 0

    node.produce(topic, [None, b"more"], [b"k0", None])
    second = load_topic(spark, topic, str(out), **options)
    assert (second.starting, second.offsets) == (first.ending, 2)
    rows = read(out)
    assert len(rows) == 102
    assert len({(row["partition"], row["offset"]) for row in rows}) == 102
    assert {row["value"] for row in rows} == {None, b"more", *(b"v%d" % n for n in range(100))}
    assert node.lag(f"load-{topic}") == {(topic, index): 0 for index in range(3)}


@pytest.mark.parametrize("point", ["create", "rename", "delete"])
def test_a_load_that_is_killed_at_a_step_of_its_commit_neither_loses_nor_repeats(
    spark: Any,
    node: EmbeddedKafka,
    tmp_path: Path,
    point: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    topic = node.topic(partitions=2)
    node.produce(topic, [b"%d" % n for n in range(20)], [b"%d" % n for n in range(20)])
    with monkeypatch.context() as patch:

        def die(*_: object) -> None:
            raise InterruptedError(point)

        patch.setattr(f"headrace.spark.stores.files.LocalFiles.{point}", die)
        with pytest.raises(InterruptedError):
            load_topic(spark, topic, str(tmp_path), bootstrap=node.bootstrap_servers)
    node.produce(topic, [b"later"])
    load_topic(spark, topic, str(tmp_path), bootstrap=node.bootstrap_servers)
    values = sorted(row["value"] for row in read(tmp_path))
    assert values == sorted([b"later", *(b"%d" % n for n in range(20))])


def test_a_slice_of_the_partitions_by_hour_with_headers(
    spark: Any, node: EmbeddedKafka, tmp_path: Path
) -> None:
    topic = node.topic(partitions=3)
    producer = Producer({"bootstrap.servers": node.bootstrap_servers})
    noon = datetime.datetime(2026, 3, 29, 12, 30, tzinfo=datetime.UTC)
    for hour in range(3):
        at_ms = int(noon.timestamp() * 1000) + hour * 3_600_000
        for partition in range(3):
            producer.produce(
                topic, b"x", partition=partition, timestamp=at_ms, headers=[("h", b"1")]
            )
    producer.flush(30)
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    try:
        load_topic(
            *(spark, topic, str(tmp_path)),
            bootstrap=node.bootstrap_servers,
            partitions=[0, 2],
            by_hour=True,
        )
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)
    rows = read(tmp_path)
    hours = ["2026-03-29-12", "2026-03-29-13", "2026-03-29-14"]
    assert [(row["partition"], row["hour"]) for row in rows] == [
        (partition, hour) for partition in (0, 2) for hour in hours
    ]
    assert rows[0]["timestamp"] == noon
    assert rows[0]["headers"] == [{"key": "h", "value": b"1"}]


def test_a_topic_that_was_made_again_is_not_taken_for_the_old_one(
    spark: Any, node: EmbeddedKafka, tmp_path: Path
) -> None:
    topic = node.topic()
    node.produce(topic, [b"old"])
    load_topic(spark, topic, str(tmp_path), bootstrap=node.bootstrap_servers)
    node.delete_topic(topic)
    node.create_topic(topic)
    node.produce(topic, [b"new", b"new"])
    with pytest.raises(DataLossError, match=rf"^Topic {topic} was made again since the last load"):
        load_topic(spark, topic, str(tmp_path), bootstrap=node.bootstrap_servers)
    load_topic(spark, topic, str(tmp_path), bootstrap=node.bootstrap_servers, name="again")
    assert sorted(row["value"] for row in read(tmp_path)) == [b"new", b"new", b"old"]


def test_a_topic_or_a_broker_that_is_not_there_is_one_sentence(
    spark: Any, node: EmbeddedKafka, tmp_path: Path
) -> None:
    with pytest.raises(PipelineError, match=r"^No such topic or partition: nowhere\."):
        load_topic(spark, "nowhere", str(tmp_path), bootstrap=node.bootstrap_servers)
    with pytest.raises(PipelineError, match=r"127\.0\.0\.1:1"):
        load_topic(spark, "nowhere", str(tmp_path), bootstrap="127.0.0.1:1")
    assert list(tmp_path.iterdir()) == []


def test_aborted_records_stay_out_and_apache_kafka_is_loaded_the_same(
    spark: Any, node: EmbeddedKafka, apache: ApacheKafka, tmp_path: Path
) -> None:
    loads = {}
    for name, bootstrap in {"ours": node.bootstrap_servers, "theirs": apache.bootstrap}.items():
        producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": "loads"})
        producer.init_transactions(60)
        for text, commit in [("kept", True), ("aborted", False), ("kept too", True)]:
            producer.begin_transaction()
            for number in range(5):
                producer.produce("loaded", f"{text} {number}".encode())
            if commit:
                producer.commit_transaction(60)
            else:
                producer.flush(60)
                producer.abort_transaction(60)
        options = {"kafka.isolation.level": "read_committed"}
        for expected in (True, False):
            done = load_topic(
                *(spark, "loaded", str(tmp_path / name)), bootstrap=bootstrap, options=options
            )
            assert bool(done.offsets) is expected
        loads[name] = [(row["offset"], row["value"]) for row in read(tmp_path / name)]
    assert loads["ours"] == loads["theirs"]
    assert len(loads["ours"]) == 10
    assert not any(b"aborted" in value for _, value in loads["ours"])


def test_the_command_loads_a_slice_by_hour_and_goes_on_with_the_next_run(
    spark: Any, node: EmbeddedKafka, tmp_path: Path
) -> None:
    topic = node.topic(partitions=3)
    node.produce(topic, [b"%d" % n for n in range(60)], [b"%d" % n for n in range(60)])
    command = PipelinesCommand(node, tmp_path)
    out = tmp_path / "out"
    arguments = ("pipelines", "load", topic, str(out), "--partitions", "0,2", "--by-hour")
    try:
        first = command.headrace(*arguments, "--group", "hourly", "--master", "local[2]")
        node.produce(topic, [b"later"] * 30, [b"%d" % n for n in range(30)])
        told = command.headrace(*arguments, "--group", "hourly", "-o", "json")
    finally:
        command.close()
    rows = read(out)
    assert {row["partition"] for row in rows} == {0, 2}
    assert all(row["hour"].startswith("20") for row in rows)
    later = sum(row["value"] == b"later" for row in rows)
    assert 0 < later < 30
    assert f"{topic}: {len(rows) - later} offsets in " in first
    done = json.loads(told.splitlines()[-1])
    assert (done["topic"], done["offsets"], done["group"]) == (topic, later, "hourly")
    assert done["ending"][topic].keys() == {"0", "2"}
    assert sum(done["ending"][topic].values()) == len(rows)
    assert node.lag("hourly") == {(topic, 0): 0, (topic, 2): 0}
