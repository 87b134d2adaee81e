"""Exactly-once writes: one Kafka transaction for each micro-batch, over all its tasks.

The driver begins the transaction, lets the tasks write under its producer (`exactly_once_ledger`
says who writes when), and commits only if every task has reported that all its records are
acknowledged. The offsets that the batch read up to, and the batch's number, are part of the
transaction; a batch that is run again after its commit is recognised by them and left out.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from headrace.base.errors import KafkaError
from headrace.client.blocking import KafkaClient
from headrace.client.groups_offsets import CommittedOffset
from headrace.client.leaders import TopicPartition
from headrace.client.transactions import FencedError, Producer, TransactionClient
from headrace.spark.errors import PipelineError
from headrace.spark.exactly_once_ledger import WriterLedger
from headrace.spark.exactly_once_plan import TaskPlan
from headrace.spark.exactly_once_service import LedgerService
from headrace.spark.sink_columns import check_columns
from headrace.spark.sink_options import SinkOptions

_log = logging.getLogger(__name__)

#: How often a batch is written, under a new epoch each time, when executors are lost under it.
ATTEMPTS = 4

#: Long enough for large batches, and what brokers allow at most by default.
TRANSACTION_TIMEOUT_MS = 900_000

_PORT = "spark.headrace.driver.port"

GroupOffsets = Mapping[str, Mapping[TopicPartition, CommittedOffset]]


@dataclass(frozen=True, slots=True)
class Writing:
    """How the batches of one query are written."""

    options: SinkOptions
    transactional_id: str
    transaction_timeout_ms: int = TRANSACTION_TIMEOUT_MS


class BatchTransactions:
    """The transactions of one transactional id, one after the other."""

    def __init__(self, writing: Writing) -> None:
        self._writing = writing
        self.transactional_id = writing.transactional_id
        self.client = KafkaClient(writing.options.client_config())
        self._transaction = TransactionClient(
            self.client,
            writing.transactional_id,
            transaction_timeout_ms=writing.transaction_timeout_ms,
            patience_ms=writing.options.send.delivery_timeout_ms,
        )
        self._has_begun = False

    def take_over(self) -> None:
        """Fence an earlier run, and let what it left open be over before anything is looked up."""
        if not self._has_begun:
            self._begin()

    def write(self, df: Any, offsets: Callable[[], GroupOffsets]) -> int:
        """Write a DataFrame and commit; returns the number of records.

        `offsets` is asked for at the end, when everything is written.
        """
        columns = check_columns(df.schema, self._writing.options.topic)
        chosen = df.select(*[df[name] for name in columns])
        for attempt in range(1, ATTEMPTS + 1):
            ledger = WriterLedger()
            try:
                return self._attempt(chosen, columns, ledger, offsets)
            except FencedError:
                raise
            except Exception as error:  # Spark's, of any class
                left_open = self._abort()
                if isinstance(left_open, FencedError):
                    raise left_open from error
                if ledger.failure is None or isinstance(error, KafkaError):
                    raise
                if not ledger.worth_a_retry:
                    raise PipelineError(ledger.failure) from error
                if left_open is not None:
                    # Its coordinator would take another attempt for that of another run.
                    raise PipelineError(
                        f"{ledger.failure} Its transaction could not be aborted either:"
                        f" {left_open.message} The next run aborts it and writes the batch again."
                    ) from error
                if attempt == ATTEMPTS:
                    raise
                _log.warning(
                    "%s The batch is written again under a new epoch (attempt %d of %d).",
                    *(ledger.failure, attempt + 1, ATTEMPTS),
                )
        raise AssertionError("unreachable")

    def close(self) -> None:
        self.client.close()

    def _attempt(
        self,
        df: Any,
        columns: list[str],
        ledger: WriterLedger,
        offsets: Callable[[], GroupOffsets],
    ) -> int:
        producer = self._begin()
        host, bind_address, port = _addresses(df.sparkSession)
        with LedgerService(
            ledger, self._transaction.add_partitions, bind_address=bind_address, port=port
        ) as service:
            plan = TaskPlan(
                self._writing.options,
                columns,
                self._writing.transactional_id,
                producer,
                (host, service.port),
                service.token,
            )
            written = self._run(df, plan)
        if not ledger.is_complete() or written != ledger.records:
            raise PipelineError(
                ledger.failure or "Not every task has reported what it wrote; nothing is committed."
            )
        for group, rows in offsets().items():
            self._transaction.commit_offsets(group, rows)
        self._transaction.end(commit=True)
        return sum(written.values())

    def _run(self, df: Any, plan: TaskPlan) -> dict[int, int]:
        """Let the tasks write; returns how many records each has, by the number of the task."""
        rows = df.mapInArrow(_task_function(plan), "task int, records long").collect()
        return {row["task"]: row["records"] for row in rows}

    def _begin(self) -> Producer:
        producer = self._transaction.begin()
        self._has_begun = True
        return producer

    def _abort(self) -> KafkaError | None:
        """Why the transaction is still open, if it is; the next beginning of a run aborts it."""
        try:
            self._transaction.end(commit=False)
        except KafkaError as error:
            return error
        return None


def _task_function(plan: TaskPlan) -> Callable[[Iterator[Any]], Iterator[Any]]:
    def write(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa
        from pyspark import TaskContext

        from headrace.spark.exactly_once_task import write_task

        task = TaskContext.get().partitionId()
        records = write_task(plan, task, batches)
        yield pa.record_batch(
            {"task": pa.array([task], pa.int32()), "records": pa.array([records], pa.int64())}
        )

    return write


def _addresses(spark: Any) -> tuple[str, str, int]:
    """Where tasks find the driver, what to listen on, and the port (0: any)."""
    conf = spark.sparkContext.getConf()
    host = conf.get("spark.driver.host", "127.0.0.1")
    bind_address = conf.get("spark.driver.bindAddress", host)
    port = conf.get(_PORT, "0")
    if not port.isdecimal():
        raise PipelineError(f"{_PORT} is a port number, not {port!r}.")
    return host, bind_address, int(port)
