"""A coordinator on a clock of its own, over a log that is a list: for tests without a story."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from typing import Any

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.outcome import CancelTimer, Outcome
from headrace.groups.config import GroupConfig
from headrace.groups.coordinator import GroupCoordinator
from headrace.groups.record_codec import GroupRecordCodec
from tests.unit.groups.client import LocalClient
from tests.unit.groups.story import Topics

Answer = Callable[[Any], None]


class World:
    """Carries out outcomes at once; `fails` says whether the next write fails."""

    def __init__(self, config: GroupConfig, fails: Callable[[], bool] = lambda: False) -> None:
        self.now_ms = 1_000_000
        self.config = config
        self.log: list[tuple[bytes, bytes | None]] = []
        #: Called with every record when it is safe.
        self.watchers: list[Callable[[Any, Any], None]] = []
        self._fails = fails
        self._codec = GroupRecordCodec()
        self._ids = count(1)
        self._tokens = count(1)
        #: What is under way between clients and the coordinator: when, in which order, what.
        self._under_way: list[tuple[int, int, Callable[[], None]]] = []
        self.restart()

    def restart(self) -> None:
        """A new coordinator from nothing but the log; whoever waits is sent elsewhere."""
        waiting = getattr(self, "_waiting", {})
        self._waiting: dict[int, Answer] = {}
        self._timers: dict[str, float] = {}
        self.coordinator = GroupCoordinator(self.config, Topics(), lambda: str(next(self._ids)))
        for key, value in self.log:
            decoded = self._codec.decode(key, value)
            assert decoded is not None
            self.coordinator.apply(*decoded, -1)
        self._carry_out(self.coordinator.loaded(self.now_ms))
        for answer in waiting.values():
            answer(KafkaError(ErrorCode.NOT_COORDINATOR))

    def ask(self, request: Any, answer: Answer, client: str = "c", version: int = 9) -> None:
        token = next(self._tokens)
        self._waiting[token] = answer
        info = LocalClient(client, version)
        self._carry_out(self.coordinator.handle(token, request, info, self.now_ms))

    def later(self, delay_ms: int, action: Callable[[], None]) -> None:
        """What takes its time on the network."""
        heappush(self._under_way, (self.now_ms + delay_ms, next(self._tokens), action))

    def advance_to(self, end_ms: int) -> None:
        """Let timers and the network do what is due, in the order of time."""
        while True:
            timer = min(self._timers, key=lambda one: (self._timers[one], one), default="")
            timer_ms = self._timers.get(timer, float("inf"))
            arrival_ms = self._under_way[0][0] if self._under_way else float("inf")
            if min(timer_ms, arrival_ms) > end_ms:
                break
            self.now_ms = int(max(self.now_ms, min(timer_ms, arrival_ms)))
            if arrival_ms <= timer_ms:
                heappop(self._under_way)[2]()
            else:
                del self._timers[timer]
                self._carry_out(self.coordinator.timer_expired(timer, self.now_ms))
        self.now_ms = end_ms

    def _carry_out(self, outcome: Outcome[Any, Any]) -> None:
        if outcome.records and self._fails():
            error = KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
            if outcome.if_failed is not None:
                self._carry_out(outcome.if_failed(error, self.now_ms))
            else:
                self._reply([(token, error) for token, _ in outcome.replies])
            return
        for key, value in outcome.records:
            self.log.append(self._codec.encode(key, value))
        for key, value in outcome.records:
            self.coordinator.apply(key, value, -1)
            for watcher in self.watchers:
                watcher(key, value)
        for change in outcome.timers:
            if isinstance(change, CancelTimer):
                self._timers.pop(change.name, None)
            else:
                self._timers[change.name] = change.at_ms
        self._reply(outcome.replies)

    def _reply(self, replies: list[tuple[int, Any]]) -> None:
        for token, response in replies:
            self._waiting.pop(token)(response)
