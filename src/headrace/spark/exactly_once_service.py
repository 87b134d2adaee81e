"""The driver's port for the tasks of one transaction: the ledger over TCP, a JSON line a message.

It lives as long as the transaction. A token that travels with the tasks keeps others out.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import secrets
import socket
import threading
from collections.abc import Callable
from typing import Any

from headrace.base.errors import KafkaError
from headrace.client.leaders import TopicPartition
from headrace.spark.exactly_once_ledger import Messages, WriterLedger

_LINE_BYTES_MAX = 1 << 20
_END_S = 5.0
_ACCEPT_PAUSE_S = 0.02
#: An executor whose machine is gone is noticed after about this long: 10 s and three probes.
#: The second is a Mac's name for the first.
_KEEPALIVE = {"TCP_KEEPIDLE": 10, "TCP_KEEPALIVE": 10, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3}


class LedgerService:
    """Serves a ledger until it is closed."""

    def __init__(
        self,
        ledger: WriterLedger,
        add_partitions: Callable[[set[TopicPartition]], None],
        *,
        bind_address: str = "127.0.0.1",
        port: int = 0,
    ) -> None:
        """`add_partitions` makes partitions part of the transaction before the first lease."""
        self.token = secrets.token_hex(16)
        self._ledger = ledger
        self._add_partitions = add_partitions
        self._lock = threading.Lock()
        self._open: dict[int, socket.socket] = {}
        self._threads: list[threading.Thread] = []
        self._next = 0
        self._closing = threading.Event()
        self._listener = socket.create_server(
            (bind_address, port), family=_family(bind_address), backlog=1024
        )
        self.port: int = self._listener.getsockname()[1]
        self._thread = threading.Thread(
            target=self._accept, name="headrace-transaction", daemon=True
        )
        self._thread.start()

    def __enter__(self) -> LedgerService:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Whoever still writes is told by the end of the connection, and is lost to the ledger."""
        self._closing.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            for connection in self._open.values():
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
        for thread in [self._thread, *self._threads]:
            thread.join(_END_S)

    def _accept(self) -> None:
        while not self._closing.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                # A caller that has gone again, or no descriptor left for now; unless we close.
                self._closing.wait(_ACCEPT_PAUSE_S)
                continue
            try:
                _keep_alive(connection)
            except OSError:
                connection.close()
                continue
            self._begin(connection)

    def _begin(self, connection: socket.socket) -> None:
        with self._lock:
            if self._closing.is_set():
                connection.close()  # nobody would end it any more
                return
            self._next += 1
            number = self._next
            self._open[number] = connection
        thread = threading.Thread(
            target=self._serve,
            args=(number, connection),
            name=f"headrace-transaction-{number}",
            daemon=True,
        )
        self._threads.append(thread)
        thread.start()

    def _serve(self, number: int, connection: socket.socket) -> None:
        task: int | None = None
        try:
            with connection.makefile("rb") as lines:
                while line := lines.readline(_LINE_BYTES_MAX):
                    task = self._handle(number, task, json.loads(line))
        except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
            pass  # gone, or nobody of ours: the ledger hears of it below
        with self._lock:
            self._send(self._ledger.closed(number))
            del self._open[number]
        connection.close()

    def _handle(self, number: int, task: int | None, asked: dict[str, Any]) -> int:
        """Do what a message asks for; returns the task that the connection is about."""
        with self._lock:
            if task is None:
                if not hmac.compare_digest(str(asked.get("token")), self.token):
                    raise ValueError("no token of ours")
                task = int(asked["claim"])
                self._send(self._ledger.claim(number, task))
            elif "acquire" in asked:
                self._acquire(number, [(str(t), int(p)) for t, p in asked["acquire"]])
            elif "release" in asked:
                for topic, partition, sequence in asked["release"]:
                    place = (str(topic), int(partition))
                    self._send(self._ledger.release(number, place, int(sequence)))
            elif "done" in asked:
                self._send(self._ledger.done(number, task, int(asked["done"])))
            elif "error" in asked:
                self._send(self._ledger.fail(str(asked["error"]), worth_a_retry=False))
            return task

    def _acquire(self, number: int, partitions: list[TopicPartition]) -> None:
        new = set(partitions) - self._ledger.partitions
        if new and self._ledger.failure is None:
            try:
                self._add_partitions(new)
            except KafkaError as error:
                self._send(self._ledger.fail(error.message, worth_a_retry=False))
                return
        self._send(self._ledger.acquire(number, partitions))

    def _send(self, messages: Messages) -> None:
        for number, message in messages:
            connection = self._open.get(number)
            if connection is not None:
                with contextlib.suppress(OSError):
                    connection.sendall(json.dumps(message).encode() + b"\n")


def _family(address: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def _keep_alive(connection: socket.socket) -> None:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE.items():
        if hasattr(socket, name):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
