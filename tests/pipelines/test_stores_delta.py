"""Delta tables from real queries; `deltalake` and pyarrow read what is there."""

import datetime
import decimal
from pathlib import Path
from typing import Any

import pytest

from headrace.spark.stores.delta import to_delta
from headrace.spark.stores.delta_table import DeltaCommits
from headrace.spark.stores.errors import StoreError
from headrace.spark.stores.retrying import Retries
from tests.support.stream_input import StreamInput, forget_last_commit, run_to_end


def open_table(path: Path) -> Any:
    from deltalake import DeltaTable

    return DeltaTable(str(path))


def read(path: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = open_table(path).to_pyarrow_table().to_pylist()
    return sorted(rows, key=lambda row: (row["id"] is None, row["id"]))


@pytest.fixture
def source(tmp_path: Path) -> StreamInput:
    return StreamInput(tmp_path / "input", "id long, name string")


def test_each_batch_is_one_commit_and_its_replay_is_none(
    spark: Any, source: StreamInput, tmp_path: Path
) -> None:
    table = tmp_path / "table"

    def stream() -> Any:
        return to_delta(source.read(spark).repartition(5), str(table))

    source.add(*({"id": number, "name": "a"} for number in range(20)))
    source.add({"id": 20, "name": None})
    run_to_end(stream(), tmp_path / "checkpoint")
    assert [row["id"] for row in read(table)] == list(range(21))
    assert len(open_table(table).file_uris()) == 2  # a file a batch, not a file a task
    version = open_table(table).version()

    forget_last_commit(tmp_path / "checkpoint")
    run_to_end(stream(), tmp_path / "checkpoint")
    assert open_table(table).version() == version
    assert len(read(table)) == 21
    assert not list(table.glob("_headrace/*/staging*"))


def test_rows_are_upserted_by_key_and_a_replay_changes_nothing(
    spark: Any, source: StreamInput, tmp_path: Path
) -> None:
    table = tmp_path / "table"

    def stream() -> Any:
        rows = source.read(spark)
        return to_delta(rows, str(table), mode="upsert", key=["id"], order_by="name")

    source.add(*({"id": number % 5, "name": f"v{number}"} for number in range(10)))
    source.add({"id": 1, "name": "new"}, {"id": 9, "name": None})
    run_to_end(stream(), tmp_path / "checkpoint")
    expected = {0: "v5", 1: "new", 2: "v7", 3: "v8", 4: "v9", 9: None}
    assert {row["id"]: row["name"] for row in read(table)} == expected
    version = open_table(table).version()
    forget_last_commit(tmp_path / "checkpoint")
    run_to_end(stream(), tmp_path / "checkpoint")
    assert (open_table(table).version(), len(read(table))) == (version, 6)


@pytest.mark.parametrize("behind", [False, True])
@pytest.mark.no_second_chance
def test_a_query_that_dies_around_the_commit_leaves_nothing_lost_or_double(
    spark: Any,
    source: StreamInput,
    tmp_path: Path,
    behind: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = tmp_path / "table"
    append = DeltaCommits.append

    def die(self: DeltaCommits, added: Any) -> None:
        if behind:
            append(self, added)
        raise InterruptedError("killed")

    source.add(*({"id": number, "name": "a"} for number in range(10)))
    with monkeypatch.context() as patch:
        patch.setattr(DeltaCommits, "append", die)
        with pytest.raises(Exception, match="killed"):
            run_to_end(to_delta(source.read(spark), str(table)), tmp_path / "checkpoint")
    assert len(read(table)) == (10 if behind else 0)
    run_to_end(to_delta(source.read(spark), str(table)), tmp_path / "checkpoint")
    assert [row["id"] for row in read(table)] == list(range(10))


@pytest.mark.no_second_chance
def test_two_drivers_that_write_the_same_batch_at_once_write_it_once(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "table"
    rows = spark.range(5)
    to_delta(rows, str(table), query="nightly", batch_id=0)
    append = DeltaCommits.append
    other: list[int] = []

    def lose_the_race(self: DeltaCommits, added: Any) -> None:
        if not other:
            other.append(1)
            to_delta(rows, str(table), query="nightly", batch_id=1)
        append(self, added)

    monkeypatch.setattr(DeltaCommits, "append", lose_the_race)
    fast = Retries(seconds=1, first_wait=0.01)
    to_delta(rows, str(table), query="nightly", batch_id=1, retries=fast)
    assert len(read(table)) == 10


def test_types_and_partitions_come_back_as_they_were(spark: Any, tmp_path: Path) -> None:
    moment = datetime.datetime(2026, 2, 3, 4, 5, 6, 789, tzinfo=datetime.UTC)
    rows = spark.createDataFrame(
        [
            (1, decimal.Decimal("1.50"), b"\x00\xff", moment, [1, None], {"a": "b"}, "a=b/ c%"),
            (2, None, None, None, None, None, None),
        ],
        "id int, amount decimal(10, 2), raw binary, at timestamp, list array<int>,"
        " map map<string, string>, kind string",
    )
    table = tmp_path / "table"
    to_delta(rows, str(table), partition_by="kind")
    to_delta(rows.where("id = 2"), str(table), partition_by="kind")
    first, second, third = read(table)
    assert first == {
        "id": 1,
        "amount": decimal.Decimal("1.50"),
        "raw": b"\x00\xff",
        "at": moment,
        "list": [1, None],
        "map": [("a", "b")],
        "kind": "a=b/ c%",
    }
    assert second == third
    assert set(second.values()) == {2, None}
    assert open_table(table).metadata().partition_columns == ["kind"]


def test_refusals_are_one_sentence(spark: Any, tmp_path: Path) -> None:
    table = str(tmp_path / "table")
    to_delta(spark.range(3), table)
    with pytest.raises(StoreError, match=r"has id as long, not as string; no column more\.$"):
        to_delta(spark.sql("SELECT 'x' AS id, 1 AS more"), table)
    with pytest.raises(StoreError, match=r"is partitioned by nothing, not by id\.$"):
        to_delta(spark.range(3), table, partition_by=["id"])
    with pytest.raises(ValueError, match="A key goes with mode"):
        to_delta(spark.range(3), table, mode="upsert")
