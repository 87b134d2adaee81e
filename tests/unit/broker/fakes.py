"""Stand-ins for what a node's shell does: time, threads, the controller's disk, and consent."""

import heapq
from collections.abc import Callable
from itertools import count
from typing import Any, TypeVar

from headrace.base.clock import ManualClock
from headrace.base.errors import KafkaError
from headrace.broker.authorization import Operation, Principal, ResourceType
from headrace.metadata.delta import MetadataDelta
from headrace.metadata.image import EMPTY_IMAGE
from headrace.metadata.record_codec import AnyRecord
from headrace.raft.machine import RaftMachine
from headrace.raft.messages import LogAppended, LogFlushed, Started
from headrace.raft.quorum_state import ElectionState
from headrace.raft.voters import Voter, VoterSet

T = TypeVar("T")
NODE_ID = 1


class DenyAll:
    """An authorizer that lets nobody do anything, but for what it is told to allow."""

    def __init__(self, *allowed: tuple[Operation, ResourceType, str]) -> None:
        self._allowed = set(allowed)

    def allows(
        self,
        principal: Principal,
        host: str,
        operation: Operation,
        resource: ResourceType,
        name: str,
    ) -> bool:
        return (operation, resource, name) in self._allowed

    def allows_any(
        self, principal: Principal, host: str, operation: Operation, resource: ResourceType
    ) -> bool:
        return any((operation, resource) == one[:2] for one in self._allowed)


class FakeTimer:
    """A timer that can be called off."""

    def __init__(self, callback: Callable[[], None]) -> None:
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        self.callback = None


class FakeScheduler:
    """`Scheduler` on a manual clock."""

    def __init__(self, clock: ManualClock) -> None:
        self.hold = False
        self.held: list[Callable[[], None]] = []
        self._clock = clock
        self._soon: list[Callable[[], None]] = []
        self._timers: list[tuple[float, int, FakeTimer]] = []
        self._numbers = count()

    @property
    def pending_timers(self) -> int:
        return sum(timer.callback is not None for _, _, timer in self._timers)

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> FakeTimer:
        timer = FakeTimer(callback)
        due_ms = self._clock.mono_ms() + delay_ms
        heapq.heappush(self._timers, (due_ms, next(self._numbers), timer))
        return timer

    def call_soon(self, callback: Callable[[], None]) -> None:
        self._soon.append(callback)

    def run_in_thread(
        self, work: Callable[[], T], done: Callable[[T | BaseException], None]
    ) -> None:
        def run() -> None:
            try:
                outcome: T | BaseException = work()
            except BaseException as error:
                outcome = error
            done(outcome)

        self.elsewhere(run)

    def elsewhere(self, run: Callable[[], None]) -> None:
        if self.hold:
            self.held.append(run)
        else:
            run()

    def release(self) -> None:
        """Do what was held back."""
        held, self.held = self.held, []
        for run in held:
            run()
        self.settle()

    def settle(self) -> None:
        while self._soon:
            self._soon.pop(0)()

    def turn(self) -> None:
        """Run what was to run soon, and nothing that it asks for in turn."""
        soon, self._soon = self._soon, []
        for callback in soon:
            callback()

    def fire_due(self, *, settles: bool = True) -> None:
        """Call what is due; without `settles`, what that asks for is left to `turn`."""
        while self._timers and self._timers[0][0] <= self._clock.mono_ms():
            timer = heapq.heappop(self._timers)[2]
            if timer.callback is not None:
                timer.callback()
            if settles:
                self.settle()


class FakePlane:
    """The controller of a quorum of one whose disk is infinitely fast."""

    def __init__(self, voter: Voter) -> None:
        self.image = EMPTY_IMAGE
        self.listeners: list[Callable[[Any, Any], None]] = []
        self.raft = RaftMachine(
            NODE_ID, VoterSet.of([voter]), ElectionState(), log_end_offset=0, log_last_epoch=0
        )
        self.raft.handle(Started())
        self.log_end_offset = 0

    def subscribe(self, listener: Callable[[Any, Any], None]) -> None:
        self.listeners.append(listener)

    def apply(self, records: list[AnyRecord]) -> None:
        delta = MetadataDelta(self.image)
        for record in records:
            delta.replay(record)
        self.log_end_offset += len(records)
        self.raft.handle(LogAppended(self.log_end_offset))
        self.raft.handle(LogFlushed(self.log_end_offset))
        offset = self.log_end_offset - 1
        self.image, changes = delta.apply(offset=offset, epoch=1, timestamp_ms=5)
        for listener in self.listeners:
            listener(changes, self.image)

    def submit(self, command: Callable[[Any], Any], done: Callable[[Any], None]) -> None:
        try:
            result = command(self.image)
        except KafkaError as error:
            done(error)
            return
        if result.records:
            self.apply(result.records)
        done(result.reply)
