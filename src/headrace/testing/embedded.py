"""A real node for a test.

    from headrace.testing import EmbeddedKafka

    with EmbeddedKafka() as kafka:
        topic = kafka.topic(partitions=3)
        producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})

The node listens on a free port of this machine and keeps its data in a temporary directory that
goes away with it: at the end of the block, also when the test fails, and also when this process is
killed (the node notices and removes it).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Self

from headrace.testing.child_node import ChildNode
from headrace.testing.client_side import ClientSide
from headrace.testing.node_handle import NodeAddresses, NodeHandle, NodeStartError
from headrace.testing.ports import free_port

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.client.blocking import KafkaClient

#: A test's groups and transactions need no fifty partitions to be spread over.
_DEFAULTS = {
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "share.coordinator.state.topic.num.partitions": "1",
}
_REMOVAL_ATTEMPTS = 10
_PORT_ATTEMPTS = 5


class EmbeddedKafka(ClientSide):
    """A node of one broker and controller; a context manager that starts it and takes it away.

    `settings` are Kafka's broker settings, above the defaults of `headrace up` and internal topics
    with one partition. The node is a child process unless `in_process` is set. With `data_dir` the
    data is kept there and stays.
    """

    def __init__(
        self,
        settings: Mapping[str, str] | None = None,
        *,
        in_process: bool = False,
        data_dir: str | os.PathLike[str] | None = None,
        log_level: str = "WARNING",
    ) -> None:
        #: Changes take effect at the next start.
        self.settings = dict(settings or {})
        self._in_process = in_process
        self._log_level = log_level
        self._given_data_dir = None if data_dir is None else os.path.abspath(data_dir)
        self._work_dir: str | None = None
        self._node: NodeHandle | None = None
        self._addresses: NodeAddresses | None = None
        self._client: KafkaClient | None = None
        #: How far `advance` has moved the clock; a restart must not turn it back.
        self.ahead_ms = 0

    # ---------------------------------------------------------------- its life

    def start(self) -> Self:
        """Start the node and return once it answers; on the same directory and ports as before."""
        if self.is_running:
            raise RuntimeError("The node is already running.")
        # Not above: a test run that has the plugin but no node shall load nothing.
        from headrace.base.platforms import what_to_do_here

        if elsewhere := what_to_do_here():
            raise NodeStartError(elsewhere)
        if self._work_dir is None:
            from tempfile import mkdtemp

            self._work_dir = mkdtemp(prefix="headrace-")
        if self._node is None:
            self._node = self._new_node(self._work_dir)
        try:
            self._start(self._node)
        except BaseException:
            if self._addresses is None:
                self.close()
            raise
        return self

    def stop(self) -> None:
        """A controlled shutdown; the data stays for `start`, until `close`."""
        self._close_client()
        if self._node is not None:
            self._node.stop()

    def kill(self) -> None:
        """End the node at once (SIGKILL), as a crash would; the data stays for `start`."""
        self._close_client()
        if self._node is not None:
            self._node.kill()

    def restart(self) -> None:
        """Stop the node unless it has ended already, and start it on the same data and ports."""
        self.stop()
        self.start()

    def close(self) -> None:
        """End the node and remove its data, unless the directory was given; harmless twice."""
        self._close_client()
        if self._node is not None:
            # Data that is about to go needs no flush; a thread can only be asked.
            if self._in_process or self._given_data_dir is not None:
                self._node.stop()
            else:
                self._node.kill()
            self._node = None
        if self._work_dir is not None:
            _remove(self._work_dir)
            self._work_dir = None
        self._addresses = None
        self.ahead_ms = 0

    def __enter__(self) -> Self:
        return self if self.is_running else self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        state = self.bootstrap_servers if self.is_running else "not running"
        return f"<EmbeddedKafka {state}>"

    # ---------------------------------------------------------------- where it is

    @property
    def is_running(self) -> bool:
        return self._node is not None and self._node.is_running

    @property
    def bootstrap_servers(self) -> str:
        """`host:port` for clients; the same over stops, kills and restarts."""
        return self._started.bootstrap

    @property
    def metrics_address(self) -> str | None:
        """`host:port` of `/metrics`, `/healthz` and `/readyz`, if `settings` ask for them."""
        return self._started.metrics

    @property
    def pid(self) -> int:
        """The process of the node: this one, if it runs in process."""
        if self._node is None:
            raise RuntimeError("The node has not been started.")
        return self._node.pid

    @property
    def data_dir(self) -> Path:
        """The node's `log.dirs`."""
        from pathlib import Path

        if self._given_data_dir is not None:
            return Path(self._given_data_dir)
        if self._work_dir is None:
            raise RuntimeError("The node has not been started.")
        return Path(self._work_dir, "data")

    @property
    def log(self) -> str:
        """The last of what the node logged; empty in process, where logging is the test's own."""
        return self._node.log_tail() if isinstance(self._node, ChildNode) else ""

    # ---------------------------------------------------------------- talking to it

    @property
    def client(self) -> KafkaClient:
        """A blocking client for plain requests of the protocol."""
        if self._client is None:
            from headrace.client.blocking import KafkaClient
            from headrace.client.config import ClientConfig

            settings = {"bootstrap.servers": self.bootstrap_servers}
            self._client = KafkaClient(ClientConfig.from_settings(settings))
        return self._client

    # ---------------------------------------------------------------- its clock

    def advance(self, seconds: float) -> None:
        """Move the node's clock forward, so that what takes that long for it is over.

        Sessions of group members, transactions, retention, producer ids and committed offsets
        expire by this clock. That of the clients does not move: to the node, all of them have been
        silent for so long.
        """
        if seconds < 0:
            raise ValueError("Time moves forward only.")
        if self._node is None or not self._node.is_running:
            raise RuntimeError("The node has not been started.")
        elapsed_ms = round(seconds * 1000)
        self._node.advance(elapsed_ms)
        self.ahead_ms += elapsed_ms

    # ---------------------------------------------------------------- pieces of the above

    @property
    def _started(self) -> NodeAddresses:
        if self._addresses is None:
            raise RuntimeError("The node has not been started.")
        return self._addresses

    def _new_node(self, work_dir: str) -> NodeHandle:
        if self._in_process:
            from headrace.testing.thread_node import ThreadNode

            return ThreadNode()
        return ChildNode(work_dir, remove_if_orphaned=True, log_level=self._log_level)

    def _start(self, node: NodeHandle) -> None:
        """On the ports it had, so that clients find it again; at first on any free ones."""
        data_dir = str(self.data_dir)
        if self._addresses is not None:
            self._addresses = node.start(
                data_dir, self._settings_on(self._addresses.ports), self.ahead_ms
            )
            return
        for attempt in range(_PORT_ATTEMPTS):
            ports = {"PLAINTEXT": free_port(), "CONTROLLER": free_port()}
            try:
                self._addresses = node.start(data_dir, self._settings_on(ports), self.ahead_ms)
                return
            except NodeStartError as error:
                # Somebody else may take a port between our look and the node's.
                is_ours = "listeners" not in self.settings and "Cannot listen" in str(error)
                if not is_ours or attempt == _PORT_ATTEMPTS - 1:
                    raise

    def _settings_on(self, ports: Mapping[str, int]) -> dict[str, str]:
        if "listeners" in self.settings:
            return {**_DEFAULTS, **self.settings}
        return {
            **_DEFAULTS,
            "listeners": ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items()),
            "controller.quorum.bootstrap.servers": f"127.0.0.1:{ports['CONTROLLER']}",
            **self.settings,
        }

    def _close_client(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None


def _remove(directory: str) -> None:
    """A process of the node's own may still write for a moment after the node was killed."""
    for _ in range(_REMOVAL_ATTEMPTS):
        shutil.rmtree(directory, ignore_errors=True)
        if not os.path.exists(directory):
            return
