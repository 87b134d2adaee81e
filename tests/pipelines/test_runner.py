"""A pipeline under the runner, in this process: what it is told, fails with and outlives."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.spark.pipelines import context
from headrace.spark.pipelines.declaration import Pipeline, declared_in, pipeline
from headrace.spark.pipelines.run_plan import RunOptions
from headrace.spark.pipelines.state_directory import PipelineDirectory, StateDirectory
from headrace.spark.stores.parquet import to_parquet
from headrace.spark.topic_output import to_topic
from headrace.testing import EmbeddedKafka
from tests.support.readiness import eventually

Runs = Callable[..., Any]
_SECONDS = 90.0


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def start(spark: Any, node: EmbeddedKafka, tmp_path: Path, told: list[str]) -> Iterator[Runs]:
    """Starts a function as a pipeline with a state directory of its own."""
    from headrace.spark.pipelines.pipeline_run import PipelineRun

    started: list[PipelineRun] = []

    def start_one(declared: Pipeline, **options: Any) -> PipelineRun:
        run = PipelineRun(
            declared,
            spark,
            directory(tmp_path, declared),
            RunOptions(bootstrap_servers=node.bootstrap_servers, **options),
            lambda name, sentence: told.append(f"{name}: {sentence}"),
        )
        started.append(run)
        run.start()
        return run

    yield start_one
    for run in started:
        run.stop(at_once=True)
        run.join(_SECONDS)


def directory(tmp_path: Path, declared: Pipeline) -> PipelineDirectory:
    return StateDirectory(str(tmp_path)).pipeline(declared.name)


def read(spark: Any, topic: str) -> Any:
    reader = spark.readStream.format("headrace").option("subscribe", topic)
    return reader.option("startingOffsets", "earliest").load()


def declare(function: Callable[[Any], Any], **settings: Any) -> Pipeline:
    (declared,) = declared_in([pipeline(**settings)(function)])
    return declared


def ended(run: Any) -> Any:
    run.join(_SECONDS)
    assert not run.is_alive
    return run.status


def produce(node: EmbeddedKafka, topic: str, count: int, first: int = 0) -> None:
    node.produce(topic, [str(n).encode() for n in range(first, first + count)])


def committed(node: EmbeddedKafka, group: str) -> dict[tuple[str, int], int]:
    from headrace.client.groups_offsets import committed_offsets

    return {tp: row.offset for tp, row in committed_offsets(node.client, group).items()}


def test_functions_of_several_queries_know_their_own_pipeline(
    start: Runs, node: EmbeddedKafka
) -> None:
    topic = node.topic(partitions=2)
    produce(node, topic, 20)
    seen: dict[str, set[tuple[str, str, int]]] = {"one": set(), "two": set()}
    built: list[str] = []

    def make(name: str) -> Pipeline:
        def function(spark: Any) -> Any:
            running = context.building()
            assert running is not None
            built.append(f"{running.name} as {running.group}")

            def each(batch: Any, batch_id: int) -> None:
                now = context.current(batch.sparkSession)
                assert now is not None
                seen[name].add((now.name, now.group, now.generation))

            return read(spark, topic).writeStream.foreachBatch(each)

        return declare(function, name=name, group=f"group-{name}")

    runs = [start(make(name), once=True) for name in seen]
    assert [ended(run).state for run in runs] == ["finished", "finished"]
    assert seen == {"one": {("one", "group-one", 1)}, "two": {("two", "group-two", 1)}}
    assert sorted(set(built)) == ["one as group-one", "two as group-two"]
    assert sum(committed(node, "group-one").values()) == 20


def test_the_plain_sink_is_found_from_the_threads_of_the_runner(
    start: Runs, node: EmbeddedKafka
) -> None:
    topic, copy = node.topic(partitions=2), node.topic(partitions=2)
    produce(node, topic, 30)

    def function(spark: Any) -> Any:
        writer = read(spark, topic).select("key", "value").writeStream.format("headrace")
        writer = writer.option("kafka.bootstrap.servers", node.bootstrap_servers)
        return writer.option("topic", copy)

    assert ended(start(declare(function, name="plain"), once=True)).state == "finished"
    records = node.consume(copy, count=30)
    assert sorted(int(record.value or b"") for record in records) == list(range(30))
    assert sum(committed(node, "plain").values()) == 30


def test_an_error_in_a_users_function_ends_the_pipeline_with_that_line(
    start: Runs, node: EmbeddedKafka, tmp_path: Path
) -> None:
    topic = node.topic()
    produce(node, topic, 3)

    def each(batch: Any, batch_id: int) -> None:
        raise ValueError("this record is poison")

    declared = declare(
        lambda spark: read(spark, topic).writeStream.foreachBatch(each), name="poisoned"
    )
    status = ended(start(declared))
    assert status.state == "failed"
    line = 'raise ValueError("this record is poison")'
    assert status.last_error.startswith("ValueError: this record is poison (test_runner.py, line ")
    assert status.last_error.endswith(f"{line})")
    assert committed(node, "poisoned") == {}
    written = directory(tmp_path, declared).read_status()
    assert written is not None
    assert written["lastError"] == status.last_error


@pytest.mark.no_second_chance
def test_a_broker_that_restarts_is_waited_for(
    start: Runs, node: EmbeddedKafka, told: list[str]
) -> None:
    topic = node.topic()
    produce(node, topic, 5)
    values: list[bytes] = []

    def each(batch: Any, batch_id: int) -> None:
        values.extend(row.value for row in batch.select("value").collect())

    declared = declare(
        lambda spark: read(spark, topic).writeStream.foreachBatch(each), name="patient"
    )
    run = start(declared)
    eventually(lambda: len(values) == 5 or not run.is_alive, timeout=_SECONDS)
    node.kill()
    eventually(lambda: run.status.restarts > 0 or bool(run.status.commit_error), timeout=_SECONDS)
    node.start()
    produce(node, topic, 5, first=5)
    eventually(lambda: len(values) >= 10 or not run.is_alive, timeout=_SECONDS)
    run.stop()
    assert ended(run).state == "stopped", run.status.last_error
    assert values == [str(n).encode() for n in range(10)]
    assert committed(node, "patient") == {(topic, 0): 10}


def test_nobody_at_the_address_is_told_at_once(start: Runs, spark: Any) -> None:
    def function(session: Any) -> Any:
        reader = session.readStream.format("headrace").option("subscribe", "t")
        return reader.option("kafka.bootstrap.servers", "127.0.0.1:1").load().writeStream

    status = ended(start(declare(function, name="lost")))
    assert status.state == "failed"
    assert "127.0.0.1:1" in status.last_error
    assert status.restarts == 0


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ("frame", "returned a DataFrame"),
        ("nothing", "returned nothing"),
        ("query", "started its query itself: leave .start() away"),
        ("error", "KeyError: 'amount' (test_runner.py, line "),
        ("column", "`amount` cannot be resolved"),
        ("option", "Give exactly one of the options subscribe, subscribePattern and assign."),
    ],
)
def test_a_function_that_gives_no_writer_is_told_what_to_return(
    start: Runs, node: EmbeddedKafka, tmp_path: Path, result: str, expected: str
) -> None:
    def function(spark: Any) -> Any:
        frame = spark.readStream.format("rate").load()
        if result == "query":
            writer = frame.writeStream.format("noop")
            return writer.option("checkpointLocation", str(tmp_path / "own")).start()
        if result == "error":
            raise KeyError("amount")
        if result == "column":
            return frame.select("amount")
        if result == "option":
            return spark.readStream.format("headrace").load().writeStream.format("noop")
        return frame if result == "frame" else None

    status = ended(start(declare(function, name="wrong")))
    assert status.state == "failed"
    assert expected in status.last_error


def test_a_pipeline_that_changed_too_much_is_refused_with_the_way_out(
    start: Runs, node: EmbeddedKafka
) -> None:
    topic = node.topic()
    produce(node, topic, 4)

    def counting(column: str) -> Pipeline:
        def function(spark: Any) -> Any:
            counts = read(spark, topic).selectExpr(f"{column} AS k").groupBy("k").count()
            return counts.writeStream.outputMode("update").format("noop")

        return declare(function, name="counts")

    assert ended(start(counting("offset"), once=True)).state == "finished"
    produce(node, topic, 4)
    status = ended(start(counting("CAST(value AS STRING)"), once=True))
    assert status.state == "failed"
    assert "does not fit its checkpoint any more" in status.last_error
    assert "`headrace pipelines reset counts --state`" in status.last_error


def test_sources_of_other_kinds_are_read_as_ever(
    start: Runs, node: EmbeddedKafka, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("a;1\nb;2\n")
    rows: list[tuple[str, str]] = []

    def function(spark: Any) -> Any:
        reader = spark.readStream.schema("name STRING, number STRING").option("sep", ";")
        return reader.csv(str(tmp_path / "in")).writeStream.foreachBatch(
            lambda batch, _: rows.extend(map(tuple, batch.collect()))
        )

    status = ended(start(declare(function, name="files"), once=True))
    assert (status.state, status.last_error) == ("finished", None)
    assert rows == [("a", "1"), ("b", "2")]


def test_a_first_batch_at_the_end_that_fails_is_read_again_from_where_it_began(
    start: Runs, node: EmbeddedKafka, tmp_path: Path
) -> None:
    topic = node.topic()
    produce(node, topic, 5)
    values: list[bytes] = []
    is_down = True

    def each(batch: Any, batch_id: int) -> None:
        if is_down:
            raise ValueError("the target is down")
        values.extend(row.value for row in batch.select("value").collect())

    def function(spark: Any) -> Any:
        events = spark.readStream.format("headrace").option("subscribe", topic).load()
        return events.writeStream.foreachBatch(each)

    declared = declare(function, name="late")
    run = start(declared)
    # Records that come once it has begun are its own, whatever becomes of the first batch.
    began = Path(directory(tmp_path, declared).generation(1), "initial-0.json")
    eventually(lambda: began.exists() or not run.is_alive, timeout=_SECONDS)
    produce(node, topic, 3, first=5)
    assert ended(run).state == "failed"
    produce(node, topic, 2, first=8)
    is_down = False
    assert ended(start(declared, once=True)).state == "finished"
    assert values == [b"5", b"6", b"7", b"8", b"9"]


def test_outputs_are_described_by_where_the_rows_go(
    start: Runs, node: EmbeddedKafka, tmp_path: Path
) -> None:
    topic, copy = node.topic(), node.topic()
    produce(node, topic, 3)
    out = tmp_path / "out"

    def exact(spark: Any) -> Any:
        return to_topic(read(spark, topic).select("value"), topic=copy, exactly_once=True)

    def files(spark: Any) -> Any:
        return to_parquet(read(spark, topic), str(out))

    def both(spark: Any) -> Any:
        def each(batch: Any, batch_id: int) -> None:
            to_parquet(batch, str(out / "own"))
            to_topic(batch.select("value"), topic=copy, bootstrap=node.bootstrap_servers)

        return read(spark, topic).writeStream.foreachBatch(each)

    declared = [declare(function) for function in (exact, files, both)]
    runs = [start(each, once=True) for each in declared]
    assert [ended(run).last_error for run in runs] == [None] * 3
    records = [directory(tmp_path, each).read_record() for each in declared]
    assert [record.sink for record in records if record is not None] == [
        f"topic {copy}, exactly once",
        f"Parquet at {out}",
        f"Parquet at {out}/own; topic {copy}",
    ]
