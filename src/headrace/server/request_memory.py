"""`queued.max.request.bytes`: how much memory large requests may take together.

As in Kafka, a request takes its whole size before its bytes are read, and gets it if there is
anything left at all: one that was begun can always be finished, and the limit is passed by no more
than one request. Whoever gets nothing is not read from until another request is done.
"""

from __future__ import annotations

from collections.abc import Callable


class RequestMemory:
    """What connections to one kind of listener share; no limit below 1."""

    __slots__ = ("_limit", "_taken", "_waiting")

    def __init__(self, limit: int = -1) -> None:
        self._limit = limit
        self._taken = 0
        self._waiting: list[Callable[[], None]] = []

    @property
    def is_limited(self) -> bool:
        return self._limit > 0

    @property
    def taken(self) -> int:
        return self._taken

    def take(self, size: int) -> bool:
        """Whether a request of this size may be read now."""
        if self._taken >= self._limit:
            return False
        self._taken += size
        return True

    def wait(self, resume: Callable[[], None]) -> None:
        """Call `resume` once it is worth another try."""
        self._waiting.append(resume)

    def release(self, size: int) -> None:
        """A request is done, or its connection is gone."""
        self._taken -= size
        if self._waiting and self._taken < self._limit:
            # All of them try again, in their order, and those who come too late wait again.
            waiting, self._waiting = self._waiting, []
            for resume in waiting:
                resume()


class RequestShare:
    """What one connection has of it, for the request at hand."""

    __slots__ = ("_memory", "is_waiting", "taken")

    def __init__(self, memory: RequestMemory) -> None:
        self._memory = memory
        self.is_waiting = False
        self.taken = 0

    def begin(self, size: int, resume: Callable[[], None]) -> bool:
        """Whether to read on; if not, `resume` is called when it is worth another try."""
        memory = self._memory
        if self.taken or not memory.is_limited:
            return True
        if memory.take(size):
            self.taken = size
            self.is_waiting = False
            return True
        if not self.is_waiting:
            self.is_waiting = True
            memory.wait(lambda: self._try_again(resume))
        return False

    def _try_again(self, resume: Callable[[], None]) -> None:
        self.is_waiting = False
        resume()

    def end(self) -> None:
        """The request is answered, or its connection gone."""
        taken, self.taken = self.taken, 0
        if taken:
            self._memory.release(taken)
