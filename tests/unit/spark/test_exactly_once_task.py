"""Several tasks under one producer against a real node, without Spark: threads play the tasks."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("numba")

from headrace.client.blocking import KafkaClient  # noqa: E402
from headrace.client.transactions import TransactionClient  # noqa: E402
from headrace.spark.errors import PipelineError  # noqa: E402
from headrace.spark.exactly_once_ledger import WriterLedger  # noqa: E402
from headrace.spark.exactly_once_plan import TaskPlan  # noqa: E402
from headrace.spark.exactly_once_service import LedgerService  # noqa: E402
from headrace.spark.exactly_once_task import (  # noqa: E402
    DriverLink,
    TransactionFailedError,
    write_task,
)
from headrace.spark.kept_clients import forget  # noqa: E402
from headrace.spark.sink_options import SinkOptions  # noqa: E402
from headrace.testing import EmbeddedKafka  # noqa: E402


@pytest.fixture(scope="module")
def node() -> Iterator[EmbeddedKafka]:
    with EmbeddedKafka(in_process=True) as kafka:
        yield kafka
        forget()


class Driver:
    """A transaction with its ledger, as the driver holds them for one attempt of a batch."""

    def __init__(self, node: EmbeddedKafka, name: str, topic: str, **kafka: str) -> None:
        given = {f"kafka.{key.replace('_', '.')}": value for key, value in kafka.items()}
        given |= {"kafka.bootstrap.servers": node.bootstrap_servers, "topic": topic}
        options = SinkOptions.parse(given)
        self.client = KafkaClient(options.client_config())
        self.transaction = TransactionClient(self.client, name)
        producer = self.transaction.begin()
        self.ledger = WriterLedger()
        self.service = LedgerService(self.ledger, self.transaction.add_partitions)
        self.plan = TaskPlan(
            options,
            ["key", "value"],
            name,
            producer,
            ("127.0.0.1", self.service.port),
            self.service.token,
        )

    def __enter__(self) -> Driver:
        return self

    def __exit__(self, *_: object) -> None:
        self.service.close()
        self.client.close()

    def link(self, task: int) -> DriverLink:
        """An attempt that has claimed its rows and does nothing more."""
        link = DriverLink(self.plan)
        link.say({"claim": task, "token": self.plan.token})
        return link


def rows(numbers: range, batch: int = 100) -> Iterator[Any]:
    for start in range(0, len(numbers), batch):
        chunk = numbers[start : start + batch]
        yield pa.record_batch(
            {
                "key": pa.array([str(n % 7) for n in chunk]),
                "value": pa.array([f"{n}:{'x' * 300}" for n in chunk]),
            }
        )


def numbers(node: EmbeddedKafka, topic: str, count: int) -> Counter[int]:
    found = node.consume(topic, count, isolation="read_committed")
    return Counter(int((row.value or b"").split(b":")[0]) for row in found)


def test_tasks_that_write_the_same_partitions_at_once_lose_and_double_nothing(
    node: EmbeddedKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.spark.exactly_once_task._ROUND_BYTES", 50_000)
    topic = node.topic(partitions=3)
    with Driver(node, "many", topic, batch_size="16384") as driver:
        with ThreadPoolExecutor(6) as pool:
            done = pool.map(
                lambda task: write_task(
                    driver.plan, task, rows(range(task * 1_000, task * 1_000 + 1_000))
                ),
                range(6),
            )
            assert list(done) == [1_000] * 6
        assert driver.ledger.is_complete()
        driver.transaction.end(commit=True)
    assert numbers(node, topic, 6_000) == Counter(range(6_000))


def test_the_second_attempt_of_a_task_that_finished_writes_nothing(node: EmbeddedKafka) -> None:
    topic = node.topic()
    with Driver(node, "twice", topic) as driver:
        assert write_task(driver.plan, 0, rows(range(10))) == 10
        assert write_task(driver.plan, 0, rows(range(10))) == 10
        driver.transaction.end(commit=True)
    assert numbers(node, topic, 10) == Counter(range(10))


def test_a_copy_beside_the_first_attempt_waits_for_it(node: EmbeddedKafka) -> None:
    topic = node.topic()
    with Driver(node, "beside", topic) as driver:
        first = driver.link(0)
        assert first.hear() == {"go": True}
        with ThreadPoolExecutor(1) as pool:
            copy = pool.submit(write_task, driver.plan, 0, rows(range(10)))
            first.say({"done": 4})
            assert copy.result(10) == 4
        first.close()
        assert driver.ledger.records == {0: 4}


def test_a_retry_of_a_task_that_was_lost_is_refused(node: EmbeddedKafka) -> None:
    topic = node.topic()
    with Driver(node, "lost", topic) as driver:
        lost = driver.link(0)
        lost.hear()
        other = driver.link(1)
        other.hear()
        lost.close()
        with pytest.raises(TransactionFailedError, match="Task 0 was lost"):
            other.hear()
        with pytest.raises(TransactionFailedError, match="Task 0 was lost"):
            write_task(driver.plan, 0, rows(range(10)))
        assert driver.ledger.worth_a_retry
        other.close()


def test_a_mistake_in_one_task_is_told_to_the_driver_in_one_sentence(node: EmbeddedKafka) -> None:
    topic = node.topic()
    large = pa.record_batch({"key": pa.array(["k"]), "value": pa.array(["x" * 2_000_000])})
    with Driver(node, "mistake", topic) as driver:
        with pytest.raises(PipelineError, match="too large"):
            write_task(driver.plan, 0, [large])
        assert "too large" in (driver.ledger.failure or "")
        assert not driver.ledger.worth_a_retry


def test_a_stranger_without_the_token_is_shown_out(node: EmbeddedKafka) -> None:
    with Driver(node, "stranger", node.topic()) as driver:
        link = DriverLink(driver.plan)
        link.say({"claim": 0, "token": "guess"})
        with pytest.raises(TransactionFailedError):
            link.hear()
        link.close()
        assert driver.ledger.failure is None


def test_tasks_end_when_the_driver_closes_the_transaction(node: EmbeddedKafka) -> None:
    with Driver(node, "closed", node.topic()) as driver:
        link = driver.link(0)
        link.hear()
        threading.Timer(0.01, driver.service.close).start()
        with pytest.raises(TransactionFailedError, match="ended the transaction"):
            link.hear()
        link.close()
