"""A task's part in a transaction: claim its rows, write under leases, report what was written."""

from __future__ import annotations

import contextlib
import json
import select
import socket
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from headrace.base.errors import KafkaError
from headrace.client.batch_request import Batch
from headrace.client.batch_sending import BatchSender
from headrace.client.blocking import KafkaClient
from headrace.client.leaders import TopicPartition
from headrace.records.producer_stamp import next_sequence, stamp_producer
from headrace.spark.errors import PipelineError
from headrace.spark.exactly_once_plan import TaskPlan
from headrace.spark.sink_connection import connected
from headrace.spark.sink_errors import in_one_sentence
from headrace.spark.sink_writing import Closed, RowWriter

#: So much is collected before leases are asked for: while one task sends, others encode.
_ROUND_BYTES = 4 * 1024 * 1024
_CONNECT_S = 30.0
_RECEIVE_BYTES = 64 * 1024


class TransactionFailedError(PipelineError):
    """The batch will be aborted, and perhaps written again under a new epoch."""


class DriverLink:
    """The connection to the driver's ledger."""

    def __init__(self, plan: TaskPlan) -> None:
        try:
            self._socket = socket.create_connection(plan.driver, timeout=_CONNECT_S)
        except OSError as error:
            host, port = plan.driver
            raise TransactionFailedError(
                f"The driver cannot be reached at {host}:{port} ({error}); exactly-once tasks talk"
                " to it: see spark.driver.host and spark.headrace.driver.port."
            ) from error
        self._socket.settimeout(None)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._received = b""

    def close(self) -> None:
        self._socket.close()

    def say(self, message: dict[str, Any]) -> None:
        try:
            self._socket.sendall(json.dumps(message).encode() + b"\n")
        except OSError as error:
            raise self._gone() from error

    def tell(self, error: str) -> None:
        """Say what went wrong, and wait until the driver knows."""
        with contextlib.suppress(TransactionFailedError):
            self.say({"error": error})
            while True:
                self.hear()

    def hear(self) -> dict[str, Any]:
        """The next message; raises if it says that the transaction has failed."""
        while b"\n" not in self._received:
            try:
                data = self._socket.recv(_RECEIVE_BYTES)
            except OSError as error:
                raise self._gone() from error
            if not data:
                raise self._gone()
            self._received += data
        line, _, self._received = self._received.partition(b"\n")
        message: dict[str, Any] = json.loads(line)
        if "failed" in message:
            raise TransactionFailedError(f"The transaction has failed: {message['failed']}")
        return message

    def has_news(self) -> bool:
        """Whether `hear` would not wait."""
        if b"\n" in self._received:
            return True
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return bool(poll.poll(0))

    def _gone(self) -> TransactionFailedError:
        return TransactionFailedError("The driver has ended the transaction.")


class SharedOutlet:
    """Sends batches under the transaction's producer, each partition while its lease is held."""

    def __init__(self, client: KafkaClient, plan: TaskPlan, link: DriverLink) -> None:
        send = replace(plan.options.send, transactional_id=plan.transactional_id)
        self._sender = BatchSender(client, send)
        self._plan = plan
        self._link = link
        self._held: dict[TopicPartition, list[tuple[bytearray, int]]] = {}
        self._bytes = 0

    def send(self, batches: Closed) -> None:
        for partition, data, count in batches:
            self._held.setdefault(partition, []).append((data, count))
            self._bytes += len(data)
        if self._bytes >= _ROUND_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write what is held: ask for all leases, use each as it comes, give it back at once."""
        if not self._held:
            return
        self._link.say({"acquire": [list(partition) for partition in self._held]})
        while self._held:
            released = []
            for topic, partition, sequence in self._leases():
                place = (topic, partition)
                ready, after = self._stamped(place, sequence)
                self._sender.send(ready)
                released.append([topic, partition, after])
            self._sender.flush()
            self._link.say({"release": released})
        self._bytes = 0

    def _leases(self) -> Iterator[tuple[str, int, int]]:
        """One lease at least, and those that are there as well."""
        yield tuple(self._link.hear()["lease"])
        while self._held and self._link.has_news():
            yield tuple(self._link.hear()["lease"])

    def _stamped(self, partition: TopicPartition, sequence: int) -> tuple[list[Batch], int]:
        ready = []
        for data, count in self._held.pop(partition):
            stamp_producer(data, *self._plan.producer, sequence, transactional=True)
            ready.append(Batch(partition, data, count))
            sequence = next_sequence(sequence, count)
        return ready, sequence


def write_task(plan: TaskPlan, task: int, batches: Iterable[Any]) -> int:
    """Write the rows of a task, unless another attempt has; returns their number."""
    link = DriverLink(plan)
    try:
        link.say({"claim": task, "token": plan.token})
        answer = link.hear()
        if "done" in answer:
            return int(answer["done"])
        records = _write(plan, link, batches)
        link.say({"done": records})
        while "ok" not in link.hear():
            pass
        return records
    finally:
        link.close()


def _write(plan: TaskPlan, link: DriverLink, batches: Iterable[Any]) -> int:
    try:
        with connected(plan.options) as found:
            outlet = SharedOutlet(found.client, plan, link)
            writer = RowWriter(found.topics, plan.options, plan.columns, outlet)
            writer.write(batches)
            return writer.rows_written
    except TransactionFailedError:
        raise
    except (KafkaError, PipelineError) as error:
        told = in_one_sentence(error) if isinstance(error, KafkaError) else error
        link.tell(str(told))
        raise told from error
