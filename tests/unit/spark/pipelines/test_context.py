"""The pipeline that a batch belongs to, found from the thread that Spark calls us on."""

from collections.abc import Iterator

import pytest

from headrace.spark.pipelines.context import (
    Running,
    being_built,
    building,
    committed_batch,
    current,
    forget,
    register,
)


class FakeContext:
    """The local properties of one thread in the JVM."""

    def __init__(self, properties: dict[str, str]) -> None:
        self.properties = properties

    def getLocalProperty(self, name: str) -> str | None:  # noqa: N802 - Spark's own name
        return self.properties.get(name)


class FakeSession:
    def __init__(self, query_id: str | None, description: str = "") -> None:
        properties = {} if query_id is None else {"sql.streaming.queryId": query_id}
        self.sparkContext = FakeContext({**properties, "spark.job.description": description})


@pytest.fixture
def two() -> Iterator[tuple[Running, Running]]:
    orders, counts = Running("orders", "orders", "/c/1"), Running("counts", "g", "/c/2")
    register(orders)
    register(counts)
    yield orders, counts
    forget(orders)
    forget(counts)


def test_two_queries_of_one_session_are_told_apart(two: tuple[Running, Running]) -> None:
    orders, counts = two
    assert current(FakeSession("id-1", "orders\nid = id-1\nbatch = 0")) is orders
    assert current(FakeSession("id-2", "counts\nid = id-2\nbatch = 0")) is counts


def test_a_description_set_by_the_user_does_not_hide_a_known_query(
    two: tuple[Running, Running],
) -> None:
    current(FakeSession("id-1", "orders\nid = id-1\nbatch = 0"))
    assert current(FakeSession("id-1", "counts")) is two[0]


def test_a_query_that_the_runner_did_not_start_is_nobody(two: tuple[Running, Running]) -> None:
    assert current(FakeSession("id-3", "other\nid = id-3")) is None
    assert current(FakeSession(None)) is None


def test_a_restarted_pipeline_replaces_its_former_self(two: tuple[Running, Running]) -> None:
    session = FakeSession("id-1", "orders\nid = id-1\nbatch = 0")
    current(session)
    again = Running("orders", "orders", "/c/1")
    register(again)
    assert current(session) is again
    forget(again)
    assert current(session) is None


def test_building_is_known_only_while_the_function_is_called() -> None:
    running = Running("orders", "orders", "/c")
    with being_built(running):
        assert building() is running
    assert building() is None


def test_offsets_of_a_pipeline_are_known_from_those_that_somebody_set() -> None:
    running = Running("orders", "orders", "/c", generation=3)
    assert committed_batch(running.commit_metadata(17)) == ("orders", 3, 17)
    assert committed_batch("") is None
    assert committed_batch("headrace-pipeline of somebody else") is None
    assert committed_batch('{"headrace-pipeline":"x"}') is None


def test_several_outputs_of_a_pipeline_are_named_once_each_and_not_without_end() -> None:
    running = Running("orders", "orders", "/c")
    for what in ("topic validated, exactly once", "Parquet at /data", "Parquet at /data"):
        running.add_output(what)
    assert running.output == "topic validated, exactly once; Parquet at /data"
    for day in range(100):
        running.add_output(f"Parquet at /data/{day}")
    assert len(running.output) < 300
