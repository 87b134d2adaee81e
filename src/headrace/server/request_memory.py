"""`queued.max.request.bytes`: how much memory large requests may take together.

As in Kafka, a request takes its whole size before its bytes are read, and gets it if there is
anything left at all: one that was begun can always be finished. Whoever gets nothing is not read
from until another request has been handled, whether or not its answer has to wait.
"""

from __future__ import annotations

from collections.abc import Callable


class RequestMemory:
    """What connections to one kind of listener share; no limit below 1."""

    __slots__ = ("_limit", "_waiting", "taken")

    def __init__(self, limit: int = -1) -> None:
        self._limit = limit
        self.taken = 0
        #: In the order in which they came.
        self._waiting: dict[RequestShare, Callable[[], None]] = {}

    @property
    def is_limited(self) -> bool:
        return self._limit > 0

    @property
    def is_used_up(self) -> bool:
        return self.taken >= self._limit

    @property
    def waiting_count(self) -> int:
        return len(self._waiting)

    def wait(self, share: RequestShare, resume: Callable[[], None]) -> None:
        """Call `resume` once it is worth another try."""
        self._waiting[share] = resume

    def forget(self, share: RequestShare) -> None:
        """It waits no longer."""
        self._waiting.pop(share, None)

    def release(self, size: int) -> None:
        """A request has been handled, or its connection is gone."""
        self.taken -= size
        if self._waiting and not self.is_used_up:
            # All of them try again, in their order, and those who come too late wait again.
            waiting, self._waiting = self._waiting, {}
            for share, resume in waiting.items():
                share.is_waiting = False
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
        if memory.is_used_up:
            if not self.is_waiting:
                self.is_waiting = True
                memory.wait(self, resume)
            return False
        if self.is_waiting:
            self.is_waiting = False
            memory.forget(self)
        self._take(size)
        return True

    def hold(self, size: int) -> None:
        """A request that has come at once counts as well."""
        if not self.taken and self._memory.is_limited:
            self._take(size)

    def _take(self, size: int) -> None:
        self.taken = size
        self._memory.taken += size

    def end(self) -> None:
        """The request is handled, or its connection gone."""
        taken, self.taken = self.taken, 0
        if taken:
            self._memory.release(taken)

    def close(self) -> None:
        """The connection is gone."""
        self._memory.forget(self)
        self.end()
