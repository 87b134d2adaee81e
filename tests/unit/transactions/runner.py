"""Runs one transaction coordinator over a log in memory, step by step.

What it does is what the broker does: store records as bytes, apply them, then carry out the rest.
Markers stay undone until a test says that they are written, and a restart keeps the bytes only.
"""

from __future__ import annotations

from typing import Any

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.outcome import CancelTimer, Outcome
from headrace.transactions.config import TransactionConfig
from headrace.transactions.coordinator import TransactionCoordinator
from headrace.transactions.effects import WriteMarkers
from headrace.transactions.record_codec import TransactionRecordCodec


class Runner:
    """A coordinator, its log, its timers and the markers that are still to be written."""

    def __init__(
        self, config: TransactionConfig | None = None, *, transaction_version: int = 2
    ) -> None:
        self.config = config or TransactionConfig()
        self.transaction_version = transaction_version
        self.now_ms = 1_000_000
        self.log: list[tuple[bytes, bytes | None]] = []
        self.timers: dict[str, float] = {}
        self.markers: list[WriteMarkers] = []
        self.codec = TransactionRecordCodec(lambda: self.transaction_version)
        self.next_producer_id: int | None = 1
        #: So many records of the next write that fails are in the log, if it is not atomic.
        self.written_at_failure = 0
        #: The next write fails with this.
        self.write_error: KafkaError | None = None
        self.coordinator_epoch = 0
        self.replies: dict[int, Any] = {}
        self._token = 0
        self.coordinator = self._new_coordinator()
        self.run(self.coordinator.loaded(self.now_ms))

    def ask(self, request: Any) -> Any:
        """The reply to a request: what was asked for, or a `KafkaError`."""
        self._token += 1
        self.run(self.coordinator.handle(self._token, request, self.now_ms))
        return self.replies.pop(self._token)

    def marked(self, work: WriteMarkers) -> None:
        """All partitions have their marker."""
        self.markers.remove(work)
        self.run(self.coordinator.markers_written(work, self.now_ms))

    def mark_all(self) -> None:
        while self.markers:
            self.marked(self.markers[0])

    def advance(self, elapsed_ms: int) -> None:
        """Let time pass, and timers go off on the way."""
        end_ms = self.now_ms + elapsed_ms
        while self.timers:
            name, at_ms = min(self.timers.items(), key=lambda timer: timer[1])
            if at_ms > end_ms:
                break
            self.now_ms = max(self.now_ms, int(at_ms))
            del self.timers[name]
            self.run(self.coordinator.timer_expired(name, self.now_ms))
        self.now_ms = end_ms

    def restart(self) -> None:
        """Another coordinator takes over, with nothing but the log."""
        self.coordinator_epoch += 1
        self.timers.clear()
        self.markers.clear()
        self.coordinator = self._new_coordinator()
        for key, value in dict(self.log).items():
            decoded = self.codec.decode(key, value)
            assert decoded is not None
            self.coordinator.apply(*decoded, -1)
        self.run(self.coordinator.loaded(self.now_ms))

    def run(self, outcome: Outcome[Any, Any]) -> None:
        if outcome.records:
            if self.write_error is not None:
                error, self.write_error = self.write_error, None
                if not outcome.is_atomic:
                    self._store(outcome.records[: self.written_at_failure])
                if outcome.if_failed is not None:
                    self.run(outcome.if_failed(error, self.now_ms))
                else:
                    self.replies.update((token, error) for token, _ in outcome.replies)
                return
            self._store(outcome.records)
        for change in outcome.timers:
            if isinstance(change, CancelTimer):
                self.timers.pop(change.name, None)
            else:
                self.timers[change.name] = change.at_ms
        self.markers += outcome.effects
        self.replies.update(outcome.replies)

    def _store(self, records: list[tuple[Any, Any]]) -> None:
        for key, value in records:
            self.log.append(self.codec.encode(key, value))
            self.coordinator.apply(key, value, -1)

    def take_producer_id(self) -> int:
        if self.next_producer_id is None:
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        self.next_producer_id += 1
        return self.next_producer_id - 1

    def _new_coordinator(self) -> TransactionCoordinator:
        return TransactionCoordinator(
            self.config,
            take_producer_id=self.take_producer_id,
            transaction_version=lambda: self.transaction_version,
            coordinator_epoch=lambda: self.coordinator_epoch,
        )
