"""What an Apache Kafka node and a Headrace node have in common as child processes.

Both are a combined broker and controller on loopback, on one data directory, driven by a
`server.properties`. The directory outlives the process: `kill()` and `start()` again is a
restart after a crash, and a directory written by one kind of node can be given to the other.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Self

from tests.support.child import Child
from tests.support.ports import free_port
from tests.support.properties import read_properties, write_properties
from tests.support.readiness import wait_until_answering


class Node(ABC):
    """A node on a directory; a directory that is formatted already is taken as it is."""

    kind: ClassVar[str]
    clean_exit_codes: ClassVar[tuple[int, ...]] = (0,)

    def __init__(
        self,
        directory: Path,
        *,
        settings: Mapping[str, str] | None = None,
        node_id: int = 1,
        port: int | None = None,
        controller_port: int | None = None,
    ) -> None:
        self.directory = directory
        self.port = port or free_port()
        self.controller_port = controller_port or free_port()
        #: Beside the data, so that the data directory holds the node's own files only.
        self.work_directory = directory.with_name(f"{directory.name}.{self.kind}")
        self.work_directory.mkdir(parents=True, exist_ok=True)
        self.properties = self.work_directory / "server.properties"
        self.child = Child(self.work_directory / "server.out")
        #: Changes take effect at the next start.
        self.settings = dict(settings or {})
        #: Seconds from the start of the process to the first Metadata reply.
        self.start_seconds = 0.0
        self._node_id = node_id

    @abstractmethod
    def format_directory(self, cluster_id: str | None) -> None:
        """Format with this node's own tool; a random cluster id unless given."""

    @abstractmethod
    def command(self) -> list[str]:
        """The command line that runs the node on `self.properties`."""

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        return self.child.process.pid

    @property
    def is_formatted(self) -> bool:
        return (self.directory / "meta.properties").exists()

    def format(self, cluster_id: str | None = None) -> None:
        """What `storage format` does."""
        self.directory.mkdir(parents=True, exist_ok=True)
        self.write_properties()
        self.format_directory(cluster_id)

    def start(self) -> None:
        """Start on the directory, formatting it first if nobody has, and wait until it answers."""
        self.begin_start()
        try:
            self.start_seconds = wait_until_answering(
                self.child.process, self.port, output=self.child.output
            )
        except BaseException:
            self.kill()
            raise

    def begin_start(self) -> None:
        """Start the process and do not wait for anything."""
        if not self.is_formatted:
            self.format()
        self.write_properties()
        self.child.start(self.command())

    def stop(self, timeout: float = 60.0) -> None:
        """A controlled shutdown (SIGTERM)."""
        code = self.child.stop(timeout)
        if code not in self.clean_exit_codes:
            raise AssertionError(f"{self.kind} ended with {code}, see {self.child.output}")

    def kill(self) -> None:
        """kill -9."""
        self.child.kill()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self.child.is_running:
            return
        if kind is None:
            self.stop()
        else:
            self.kill()

    def default_settings(self) -> dict[str, str]:
        """Settings of this kind of node, below those the test asked for."""
        return {}

    def write_properties(self) -> None:
        """Write `server.properties`, with the node id that the directory has if it has one."""
        if self.is_formatted:
            meta = read_properties(self.directory / "meta.properties")
            if meta.get("node.id", "").isdigit():
                self._node_id = int(meta["node.id"])
        controller = f"127.0.0.1:{self.controller_port}"
        write_properties(
            self.properties,
            {
                "process.roles": "broker,controller",
                "node.id": str(self._node_id),
                "controller.quorum.voters": f"{self._node_id}@{controller}",
                "listeners": f"PLAINTEXT://{self.bootstrap},CONTROLLER://{controller}",
                "advertised.listeners": f"PLAINTEXT://{self.bootstrap}",
                "controller.listener.names": "CONTROLLER",
                "log.dirs": str(self.directory),
                **self.default_settings(),
                **self.settings,
            },
        )
