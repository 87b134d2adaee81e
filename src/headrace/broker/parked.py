"""Replies that come later: a long poll that waits for data, a command that waits for a disk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from headrace.protocol.compiler import Buffer
from headrace.protocol.schema import Response

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Close:
    """Instead of a response: end the connection, and say why in the log."""

    reason: str


@dataclass(frozen=True, slots=True)
class Encoded:
    """A response whose bytes were made already, since that takes more than a moment."""

    response: Response
    chunks: list[Buffer]


#: What a handler finally has for the client: a response or, as bytes, one that is encoded and
#: short; None means that nothing is sent (acks=0).
Reply = Response | Encoded | bytes | Close | None


class Parked:
    """Stands in for a response until somebody completes it; later completions do nothing."""

    __slots__ = ("_abandoned", "_callback", "_reply", "is_done")

    def __init__(self, abandoned: Callable[[], None] | None = None) -> None:
        """`abandoned` runs if the client goes away before there is a reply."""
        self._reply: Reply = None
        self._callback: Callable[[Reply], None] | None = None
        self._abandoned = abandoned
        #: Whether somebody has completed it, or nobody waits any more.
        self.is_done = False

    def complete(self, reply: Reply) -> None:
        if self.is_done:
            return
        self.is_done = True
        self._abandoned = None  # it knows whoever knows this: a cycle, left to the collector
        callback, self._callback = self._callback, None
        if callback is None:
            self._reply = reply
        else:
            callback(reply)

    def complete_with(self, reply: Reply | Parked) -> None:
        """Complete with a reply that may itself come later."""
        if isinstance(reply, Parked):
            reply.when_done(self.complete)
        else:
            self.complete(reply)

    def when_done(self, callback: Callable[[Reply], None]) -> None:
        if self.is_done:
            callback(self._reply)
        else:
            self._callback = callback

    def when_abandoned(self, callback: Callable[[], None]) -> None:
        """`callback` runs if the client goes away before there is a reply."""
        if not self.is_done:
            self._abandoned = callback

    def abandon(self) -> None:
        """Nobody waits any more."""
        if not self.is_done:
            self.is_done = True
            abandoned, self._abandoned = self._abandoned, None
            self._callback = None
            if abandoned is not None:
                abandoned()


#: A wait that is over, for whoever has not waited yet.
DONE = Parked()
DONE.abandon()


class TimerHandle(Protocol):
    """A timer that has been set."""

    def cancel(self) -> None: ...


class Scheduler(Protocol):
    """What the shell lends to the broker: later, soon, and elsewhere."""

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> TimerHandle:
        """Run `callback` once after `delay_ms`."""
        ...

    def call_soon(self, callback: Callable[[], None]) -> None:
        """Run `callback` after the work at hand, so that several causes share one run."""
        ...

    def run_in_thread(
        self, work: Callable[[], T], done: Callable[[T | BaseException], None]
    ) -> None:
        """Run blocking `work` off the loop, then `done` with its result or error on the loop."""
        ...
