"""The blocking client: bootstrap, metadata, one connection per node, retries with back-off.

It is what the command line and other small programs of ours use. It is not a producer or a
consumer: it sends requests to the right node and says in one sentence why it could not.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TypeVar

from headrace.base.errors import RETRIABLE, ErrorCode, KafkaError
from headrace.client.config import ClientConfig
from headrace.client.connection import BlockingConnection, format_address
from headrace.client.errors import ConnectionFailedError, UnreachableError, raise_for_code
from headrace.client.metadata import ClusterView, ask_brokers, ask_controllers
from headrace.protocol.schema import Request, Response

R = TypeVar("R", bound=Response)
T = TypeVar("T")

#: A node that is starting gets this long to open its port; a wrong address is told after it.
BOOTSTRAP_WAIT_MS = 3_000

#: So many connections may break under one request before its sender is told.
BROKEN_CONNECTIONS_MAX = 3

#: Errors after which `retry` tries again. A topic that does not exist is an answer, not a fault.
RETRIED = RETRIABLE - {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.THROTTLING_QUOTA_EXCEEDED}


class KafkaClient:
    """Requests to a cluster, one at a time; a context manager that closes its connections."""

    def __init__(self, config: ClientConfig, *, bootstrap_wait_ms: int = BOOTSTRAP_WAIT_MS) -> None:
        self.config = config
        self._bootstrap_wait_ms = bootstrap_wait_ms
        self._bootstrapped: BlockingConnection | None = None
        self._connections: dict[int, BlockingConnection] = {}
        self._view: ClusterView | None = None

    def __enter__(self) -> KafkaClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        for connection in [*self._connections.values(), self._bootstrapped]:
            if connection is not None:
                connection.close()
        self._connections.clear()
        self._bootstrapped = None

    # ---------------------------------------------------------------- where to send

    def any_node(self) -> BlockingConnection:
        """A connection to whichever bootstrap server answers first in the list."""
        if self._bootstrapped is None:
            self._bootstrapped = self._bootstrap()
        return self._bootstrapped

    def node(self, node_id: int) -> BlockingConnection:
        """A connection to one node, at the address that the cluster advertises for it."""
        connection = self._connections.get(node_id)
        if connection is not None:
            return connection
        broker = self.cluster().nodes.get(node_id)
        if broker is None:
            broker = self.refresh().nodes.get(node_id)
        if broker is None:
            raise KafkaError(
                ErrorCode.BROKER_NOT_AVAILABLE, f"Node {node_id} is not available now."
            )
        address = (broker.host, broker.port)
        try:
            connection = BlockingConnection(address, self.config)
        except UnreachableError as error:
            raise UnreachableError(
                f"{error.message} Node {node_id} advertises that address:"
                " see advertised.listeners in its configuration."
            ) from error
        self._connections[node_id] = connection
        return connection

    def admin_node(self) -> BlockingConnection:
        """Where changes go: any broker (it forwards them), or the active controller itself."""
        if not self.config.to_controllers:
            return self.any_node()
        return self.node(self.cluster().controller_id)

    # ---------------------------------------------------------------- what the cluster is

    def cluster(self) -> ClusterView:
        """The nodes as last heard."""
        return self._view if self._view is not None else self.refresh()

    def refresh(self) -> ClusterView:
        """Ask again which nodes there are."""
        ask = ask_controllers if self.config.to_controllers else ask_brokers
        self._view = ask(self.any_node())
        return self._view

    # ---------------------------------------------------------------- trying again

    def admin(
        self, request: Request, answer: type[R], *, check: Callable[[R], None] | None = None
    ) -> R:
        """Send a request that concerns the whole cluster, again where the answer asks for it."""

        def attempt() -> R:
            response = self.admin_node().call(request, answer)
            code = getattr(response, "error_code", 0)
            raise_for_code(code, getattr(response, "error_message", None))
            if check is not None:
                check(response)
            return response

        return self.retry(attempt)

    def retry(self, attempt: Callable[[], T], *, codes: Iterable[ErrorCode] = RETRIED) -> T:
        """Call `attempt` until it succeeds, fails for good, or the API time-out has passed."""
        deadline = time.monotonic() + self.config.default_api_timeout_ms / 1000
        backoff_ms = self.config.retry_backoff_ms
        broken = 0
        while True:
            try:
                return attempt()
            except UnreachableError:
                raise
            except ConnectionFailedError:
                broken += 1
                if broken == BROKEN_CONNECTIONS_MAX:
                    raise
                self.close()
            except KafkaError as error:
                if error.code not in codes or time.monotonic() + backoff_ms / 1000 >= deadline:
                    raise
            time.sleep(backoff_ms / 1000)
            backoff_ms = min(backoff_ms * 2, self.config.retry_backoff_max_ms)
            self._view = None

    def _bootstrap(self) -> BlockingConnection:
        deadline = time.monotonic() + self._bootstrap_wait_ms / 1000
        backoff_ms = self.config.retry_backoff_ms
        while True:
            failures: list[ConnectionFailedError] = []
            for address in self.config.bootstrap:
                try:
                    return BlockingConnection(address, self.config)
                except ConnectionFailedError as error:
                    failures.append(error)
            if time.monotonic() + backoff_ms / 1000 >= deadline:
                raise self._unreachable(failures)
            time.sleep(backoff_ms / 1000)

    def _unreachable(self, failures: list[ConnectionFailedError]) -> UnreachableError:
        if len(failures) == 1:
            return UnreachableError(failures[0].message)
        names = ", ".join(format_address(address) for address in self.config.bootstrap)
        return UnreachableError(
            f"None of the bootstrap servers {names} can be reached: {failures[0].message}"
        )
