"""The pages of a node: `/metrics` for Prometheus, `/healthz` and `/readyz` for who runs it.

Every value comes from the state that the node works with; nothing is kept up to date for the page.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from http import HTTPStatus
from typing import TYPE_CHECKING

import headrace
from headrace.server.cluster_metrics import (
    IsrChanges,
    controller_families,
    loader_families,
    quorum_families,
    snapshot_families,
)
from headrace.server.coordinator_metrics import group_families, transaction_families
from headrace.server.http_status import Answer, Page
from headrace.server.process_metrics import process_families
from headrace.server.prometheus import CONTENT_TYPE, GAUGE, Family, render, single
from headrace.server.replica_metrics import (
    cleaner_families,
    directory_families,
    partition_families,
    replica_families,
    session_families,
)
from headrace.server.request_metrics import (
    connection_families,
    refusal_families,
    request_families,
    topic_families,
)
from headrace.server.request_times import RecentTimes

if TYPE_CHECKING:
    from headrace.server.node import Node

#: Kafka's `BrokerState`.
_RUNNING = 3
_STARTING = "The node is starting: its logs are not loaded yet."


class StatusPages:
    """Made before the node has its parts, and told when it has them."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._recent = RecentTimes(node.metrics)
        self._isr_changes = IsrChanges(node.config.node_id)
        self._has_parts = False

    def node_is_up(self) -> None:
        """From now on there is something to look at."""
        self._node.plane.subscribe(self._isr_changes.metadata_changed)
        self._has_parts = True

    @property
    def pages(self) -> dict[str, Page]:
        return {"/metrics": self.metrics, "/healthz": self.health, "/readyz": self.readiness}

    async def metrics(self) -> Answer:
        """A long page is made piece by piece: clients are served in between."""
        if not self._has_parts:
            return Answer.text(HTTPStatus.SERVICE_UNAVAILABLE, _STARTING)
        pieces: list[bytes] = []
        for piece in render(self._families()):
            pieces.append(piece.encode())
            await asyncio.sleep(0)
        return Answer(HTTPStatus.OK, b"".join(pieces), CONTENT_TYPE)

    async def health(self) -> Answer:
        """Whoever gets this has found a process whose loop turns."""
        reason = self._failure()
        if reason is not None:
            return Answer.text(HTTPStatus.SERVICE_UNAVAILABLE, reason)
        return Answer.text(HTTPStatus.OK, "ok")

    async def readiness(self) -> Answer:
        """Whether clients will be served."""
        reason = self._failure() or self._unready()
        if reason is not None:
            return Answer.text(HTTPStatus.SERVICE_UNAVAILABLE, reason)
        return Answer.text(HTTPStatus.OK, "ready")

    def _failure(self) -> str | None:
        failed = self._node.failed
        if failed is not None and failed.done():
            return f"The node cannot go on: {failed.result()}"
        return None

    def _unready(self) -> str | None:
        if not self._has_parts:
            return _STARTING
        node = self._node
        if node.plane.image.offset < 0:
            return "The metadata is not loaded yet."
        if not all(listener.is_open for listener in node.listeners):
            return "Not every listener is open."
        if not node.logs.online:
            reasons = "; ".join(str(directory.failure) for directory in node.logs.directories)
            return f"No data directory is online: {reasons}."
        return None

    def _families(self) -> Iterator[Family]:
        node = self._node
        yield Family(
            "headrace_info",
            GAUGE,
            "The version and the cluster.",
            [("", {"version": headrace.__version__, "clusterId": node.cluster_id}, 1)],
        )
        yield single(
            "kafka_server_kafkaserver_brokerstate",
            GAUGE,
            "kafka.server:type=KafkaServer,name=BrokerState",
            _RUNNING,
        )
        yield from topic_families(node.metrics)
        yield from refusal_families(node.metrics)
        yield from request_families(node.metrics, self._recent.counts(node.clock.mono_ms()))
        yield from connection_families(node.listeners)
        yield from replica_families(node.partitions)
        yield from self._isr_changes.families()
        yield from session_families(node.sessions)
        yield from directory_families(node.logs)
        yield from cleaner_families(node.logs, node.clock.wall_ms())
        yield from controller_families(node.plane, node.clock.wall_ms())
        yield from snapshot_families(node.plane.snapshots, node.clock.mono_ms())
        yield from quorum_families(node.plane)
        yield from loader_families(node.plane.image, node.plane.raft.election.leader_id)
        yield from group_families(node.groups.coordinators)
        yield from transaction_families(node.transactions.transactions.coordinators)
        yield from process_families()
        yield from partition_families(node.partitions)
