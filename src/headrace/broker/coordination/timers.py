"""The timers of one shard, by name.

A session timer is put off with every heartbeat, so putting off is made cheap: the running timer
stays, and when it goes off too early it is set again for the rest. One that is due already is a way
to go on after others had their turn, so it takes its turn among the steps of long work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headrace.base.clock import Clock
from headrace.base.outcome import CancelTimer, SetTimer
from headrace.broker.coordination.long_work import Soon
from headrace.broker.parked import Scheduler, TimerHandle


class Timers:
    """Deadlines on the monotonic clock: a wall clock that jumps expires nobody."""

    def __init__(
        self, scheduler: Scheduler, clock: Clock, expired: Callable[[str], None], soon: Soon
    ) -> None:
        """`soon` runs what is due already, one such thing after the other."""
        self._scheduler = scheduler
        self._clock = clock
        self._expired = expired
        self._soon = soon
        #: When a timer is due, and the call that will look.
        self._due: dict[str, float] = {}
        self._calls: dict[str, tuple[float, TimerHandle]] = {}

    def set(self, name: str, at_ms: float) -> None:
        """`at_ms` is a time of the wall clock."""
        due_ms = self._clock.mono_ms() + max(0.0, at_ms - self._clock.wall_ms())
        self._due[name] = due_ms
        call = self._calls.get(name)
        if call is not None:
            if call[0] <= due_ms:
                return
            call[1].cancel()
        self._call(name, due_ms)

    def change(self, changes: Sequence[SetTimer | CancelTimer]) -> None:
        for change in changes:
            if isinstance(change, CancelTimer):
                self.cancel(change.name)
            else:
                self.set(change.name, change.at_ms)

    def is_set(self, name: str) -> bool:
        return name in self._due

    def cancel(self, name: str) -> None:
        if self._due.pop(name, None) is not None:
            self._calls.pop(name)[1].cancel()

    def close(self) -> None:
        for _, handle in self._calls.values():
            handle.cancel()
        self._calls.clear()
        self._due.clear()

    def _call(self, name: str, due_ms: float) -> None:
        delay_ms = due_ms - self._clock.mono_ms()
        handle: TimerHandle
        if delay_ms > 0:
            handle = self._scheduler.call_later(delay_ms, lambda: self._look(name))
        else:
            handle = _Turn(lambda: self._look(name))
            self._soon(handle.run)
        self._calls[name] = (due_ms, handle)

    def _look(self, name: str) -> None:
        called_ms, _ = self._calls.pop(name)
        due_ms = self._due[name]
        if due_ms > called_ms:
            self._call(name, due_ms)
            return
        del self._due[name]
        self._expired(name)


class _Turn:
    """A call that waits for its turn and can be called off."""

    def __init__(self, callback: Callable[[], None]) -> None:
        self._callback: Callable[[], None] | None = callback

    def run(self) -> None:
        if self._callback is not None:
            self._callback()

    def cancel(self) -> None:
        self._callback = None
