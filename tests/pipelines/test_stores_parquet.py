"""Parquet from real queries: replays, kills, sizes; pyarrow reads what is there."""

import datetime
import decimal
import json
from pathlib import Path
from typing import Any

import pyarrow.dataset
import pytest

from headrace.spark.stores.files import Files, LocalFiles
from headrace.spark.stores.hadoop_files import HadoopFiles
from headrace.spark.stores.parquet import to_parquet
from tests.support.stream_input import StreamInput, forget_last_commit, run_to_end


def read(path: Path) -> list[dict[str, Any]]:
    """As a program that never heard of Headrace or of Spark."""
    table = pyarrow.dataset.dataset(path, format="parquet", partitioning="hive").to_table()
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


def data_files(path: Path) -> list[Path]:
    found = (it for it in path.rglob("*.parquet") if "_headrace" not in it.parts)
    return sorted(found)


@pytest.fixture
def source(tmp_path: Path) -> StreamInput:
    return StreamInput(tmp_path / "input", "id long, name string")


def test_each_batch_is_there_once_though_the_last_is_replayed(
    spark: Any, source: StreamInput, tmp_path: Path
) -> None:
    def stream() -> Any:
        return to_parquet(source.read(spark), str(tmp_path / "out")).queryName("copy")

    source.add({"id": 1, "name": "a"}, {"id": 2, "name": None})
    run_to_end(stream(), tmp_path / "checkpoint")
    source.add({"id": 3, "name": "c"})
    run_to_end(stream(), tmp_path / "checkpoint")
    before = {path: path.stat().st_mtime_ns for path in data_files(tmp_path / "out")}
    assert len(before) == 2

    forget_last_commit(tmp_path / "checkpoint")
    run_to_end(stream(), tmp_path / "checkpoint")

    assert {path: path.stat().st_mtime_ns for path in data_files(tmp_path / "out")} == before
    assert sorted(read(tmp_path / "out"), key=lambda row: row["id"]) == [
        {"id": 1, "name": "a"},
        {"id": 2, "name": None},
        {"id": 3, "name": "c"},
    ]
    assert spark.read.parquet(str(tmp_path / "out")).count() == 3


@pytest.mark.parametrize("point", ["create", "rename", "delete"])
@pytest.mark.no_second_chance
def test_a_query_that_dies_at_a_step_of_the_commit_leaves_nothing_lost_or_double(
    spark: Any,
    source: StreamInput,
    tmp_path: Path,
    point: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def stream() -> Any:
        rows = source.read(spark).repartition(3)
        return to_parquet(rows, str(tmp_path / "out"), partition_by=["name"])

    source.add(*({"id": number, "name": f"n{number % 3}"} for number in range(100)))
    with monkeypatch.context() as patch:

        def die(*_: object) -> None:
            raise InterruptedError(point)

        patch.setattr(f"headrace.spark.stores.files.LocalFiles.{point}", die)
        with pytest.raises(Exception, match=point):
            run_to_end(stream(), tmp_path / "checkpoint")
    if point == "create":
        assert data_files(tmp_path / "out") == []

    run_to_end(stream(), tmp_path / "checkpoint")
    assert sorted(row["id"] for row in read(tmp_path / "out")) == list(range(100))


def test_a_swarm_of_tasks_writes_one_file_and_a_large_batch_several(
    spark: Any, tmp_path: Path
) -> None:
    small = spark.range(5000).repartition(40)
    to_parquet(small, str(tmp_path / "small"))
    (one,) = data_files(tmp_path / "small")
    assert len(read(one)) == 5000

    target = 200_000
    large = spark.range(100_000).selectExpr("id", "uuid() AS text").coalesce(1)
    to_parquet(large, str(tmp_path / "large"), target_file_bytes=target)
    sizes = [path.stat().st_size for path in data_files(tmp_path / "large")]
    assert len(sizes) > 5
    assert max(sizes) < 2 * target
    assert len([size for size in sizes if size < target / 4]) <= 1
    assert len(read(tmp_path / "large")) == 100_000


def test_types_nulls_and_partitions_come_back_as_they_were(spark: Any, tmp_path: Path) -> None:
    moment = datetime.datetime(1600, 2, 3, 4, 5, 6, 789, tzinfo=datetime.UTC)
    rows = spark.createDataFrame(
        [
            (1, decimal.Decimal("1.50"), b"\x00\xff", moment, [1, None], {"a": "b"}, "07"),
            (2, None, None, None, None, None, None),
            (3, decimal.Decimal("-0.01"), b"", moment, [], {}, "a=b/ c"),
        ],
        "id int, amount decimal(10, 2), raw binary, at timestamp, list array<int>,"
        " map map<string, string>, kind string",
    )
    to_parquet(rows.repartition(3), str(tmp_path / "out"), partition_by="kind")
    schema = rows.schema
    found = spark.read.schema(schema).parquet(str(tmp_path / "out"))
    assert sorted(map(str, found.collect())) == sorted(map(str, rows.collect()))
    by_id = {row["id"]: row for row in read(tmp_path / "out")}
    assert by_id[1]["at"] == moment
    assert by_id[1]["amount"] == decimal.Decimal("1.50")
    assert by_id[2]["kind"] is None


def test_with_a_batch_column_a_batch_is_one_directory_that_appears_at_once(
    spark: Any, source: StreamInput, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    renamed: list[str] = []
    original = LocalFiles.rename

    def note(self: LocalFiles, origin: str, target: str) -> None:
        if "_headrace" not in target:
            renamed.append(Path(target).name)
        original(self, origin, target)

    monkeypatch.setattr(LocalFiles, "rename", note)
    source.add(*({"id": number, "name": f"n{number}"} for number in range(5)))
    writer = to_parquet(
        source.read(spark), str(tmp_path / "out"), partition_by=["name"], batch_column="load"
    )
    run_to_end(writer.queryName("by-batch"), tmp_path / "checkpoint")
    assert len(renamed) == 1
    assert renamed[0].startswith("load=by-batch-")
    rows = read(tmp_path / "out")
    assert len(rows) == 5
    assert {row["load"] for row in rows} == {renamed[0].removeprefix("load=")}


def test_an_own_foreach_batch_function_may_write_twice(
    spark: Any, source: StreamInput, tmp_path: Path
) -> None:
    def both(df: Any, _: int) -> None:
        to_parquet(df.where("id > 1"), str(tmp_path / "out"), query="large")
        to_parquet(df.where("id <= 1"), str(tmp_path / "out"), query="small")

    source.add({"id": 1, "name": "a"}, {"id": 2, "name": "b"})
    for _ in range(2):
        run_to_end(source.read(spark).writeStream.foreachBatch(both), tmp_path / "checkpoint")
        assert sorted(row["id"] for row in read(tmp_path / "out")) == [1, 2]
        forget_last_commit(tmp_path / "checkpoint")


def test_a_batch_without_rows_leaves_no_file_but_is_known(spark: Any, tmp_path: Path) -> None:
    empty = spark.range(10).where("id > 100")
    to_parquet(empty, str(tmp_path / "out"), query="nightly", batch_id=4)
    assert data_files(tmp_path / "out") == []
    (record,) = tmp_path.rglob("*.json")
    assert json.loads(record.read_text())["batch_id"] == 4
    to_parquet(spark.range(3), str(tmp_path / "out"), query="nightly", batch_id=4)
    assert data_files(tmp_path / "out") == []
    to_parquet(spark.range(3), str(tmp_path / "out"), query="nightly", batch_id=5)
    assert len(read(tmp_path / "out")) == 3


def test_the_same_through_hadoops_file_systems(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def through_hadoop(session: Any, path: str) -> tuple[Files, str]:
        return HadoopFiles(session, f"file:{path}"), f"file:{path}"

    monkeypatch.setattr("headrace.spark.stores.parquet.files_of", through_hadoop)
    rows = spark.range(100).selectExpr("id", "concat('a=b/ c%', id % 3) AS kind").repartition(4)
    out = str(tmp_path / "out")
    with monkeypatch.context() as patch:

        def die(*_: object) -> None:
            raise InterruptedError("killed")

        patch.setattr(HadoopFiles, "rename", die)
        with pytest.raises(InterruptedError):
            to_parquet(rows, out, partition_by=["kind"], query="nightly", batch_id=1)
    for _ in range(2):
        to_parquet(rows, out, partition_by=["kind"], query="nightly", batch_id=1)
        assert len(data_files(tmp_path / "out")) == 3
        assert sorted(row["id"] for row in read(tmp_path / "out")) == list(range(100))
    found = spark.read.parquet(out).select("kind").distinct().collect()
    assert sorted(row["kind"] for row in found) == ["a=b/ c%0", "a=b/ c%1", "a=b/ c%2"]
