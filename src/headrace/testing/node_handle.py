"""What an embedded node looks like to `EmbeddedKafka`, wherever it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


class NodeStartError(RuntimeError):
    """The node did not come up; the text says why."""


@dataclass(frozen=True, slots=True)
class NodeAddresses:
    """Where a running node listens."""

    #: `host:port` for clients.
    bootstrap: str
    #: Port of each listener by its name, so that a restart can have the same ones.
    ports: Mapping[str, int]
    #: `host:port` of metrics and health, if they are served.
    metrics: str | None


class NodeHandle(Protocol):
    """A node that can be started again on the same directory after it has ended."""

    @property
    def is_running(self) -> bool: ...

    @property
    def pid(self) -> int: ...

    def start(self, data_dir: str, settings: Mapping[str, str], ahead_ms: int) -> NodeAddresses:
        """Format the directory if need be, start, and return once it answers."""

    def advance(self, elapsed_ms: int) -> None:
        """Move the node's clock forward."""

    def stop(self) -> None:
        """A controlled shutdown."""

    def kill(self) -> None:
        """End it as a crash would."""
