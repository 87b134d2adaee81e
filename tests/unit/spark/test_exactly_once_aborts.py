"""A batch whose transaction can neither be committed nor aborted is told as what it is."""

from types import SimpleNamespace
from typing import Any

import pytest

from headrace.base.errors import ErrorCode, KafkaError
from headrace.client.errors import UnreachableError
from headrace.client.transactions import FencedError
from headrace.spark.errors import PipelineError
from headrace.spark.exactly_once import BatchTransactions, Writing
from headrace.spark.exactly_once_ledger import WriterLedger
from headrace.spark.sink_options import SinkOptions

_SERVERS = {"kafka.bootstrap.servers": "127.0.0.1:1", "topic": "t"}


class Frame:
    """As much of a DataFrame as is looked at before its tasks run."""

    schema = SimpleNamespace(
        fields=[
            SimpleNamespace(name="value", dataType=SimpleNamespace(simpleString=lambda: "binary"))
        ]
    )

    def __getitem__(self, name: str) -> str:
        return name

    def select(self, *names: str) -> "Frame":
        return self


def broken(monkeypatch: pytest.MonkeyPatch, abort: KafkaError | None) -> tuple[Any, list[int]]:
    """Transactions whose tasks are lost, and whose abort fails in its own way."""
    transactions = BatchTransactions(Writing(SinkOptions.parse(_SERVERS), "x"))
    attempts: list[int] = []

    def attempt(df: Any, columns: Any, ledger: WriterLedger, offsets: Any) -> int:
        attempts.append(1)
        ledger.fail("Task 3 was lost while it wrote.", worth_a_retry=True)
        raise RuntimeError("Spark's own words")

    def end(*, commit: bool) -> None:
        if abort is not None:
            raise abort

    monkeypatch.setattr(transactions, "_attempt", attempt)
    monkeypatch.setattr(transactions._transaction, "end", end)
    return transactions, attempts


def test_lost_tasks_are_tried_again_while_the_transaction_can_be_aborted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    transactions, attempts = broken(monkeypatch, None)
    with pytest.raises(RuntimeError, match="Spark's own words"):
        transactions.write(Frame(), dict)
    assert len(attempts) == 4


def test_a_cluster_that_is_away_is_named_and_no_other_run_is_blamed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    away = UnreachableError("No broker can be reached at 127.0.0.1:1.")
    transactions, attempts = broken(monkeypatch, away)
    with pytest.raises(PipelineError, match="could not be aborted either: No broker") as told:
        transactions.write(Frame(), dict)
    assert "taken over" not in str(told.value)
    assert len(attempts) == 1


def test_another_run_is_blamed_where_it_is_the_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    fenced = FencedError(ErrorCode.PRODUCER_FENCED, "Another run has taken over.")
    transactions, _ = broken(monkeypatch, fenced)
    with pytest.raises(FencedError, match="taken over"):
        transactions.write(Frame(), dict)
