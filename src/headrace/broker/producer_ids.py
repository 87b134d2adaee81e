"""Producer ids: unique in the cluster, got from the controller in blocks."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from headrace.base.errors import ErrorCode, KafkaError

#: Asks the controller for a block; the callback gets (first id, count) or the error.
AllocateBlock = Callable[[Callable[["tuple[int, int] | KafkaError"], None]], None]

#: The next block is fetched when less than one in so many is left of the current one.
_FETCH_AHEAD = 10


class ProducerIds:
    """Hands out ids, and fetches the next block in good time."""

    def __init__(self, allocate: AllocateBlock) -> None:
        self._allocate = allocate
        #: (next id, end) of the blocks that we have.
        self._blocks: deque[tuple[int, int]] = deque()
        self._low = 0
        self._is_asking = False
        self._waiting: deque[Callable[[KafkaError | None], None]] = deque()

    def take_now(self) -> int:
        """The next id; if there is none at hand, Kafka's error that makes clients ask again."""
        if not self._blocks:
            self._ask()
        if not self._blocks:
            raise KafkaError(
                ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "Waiting for the next block of ids."
            )
        taken, end = self._blocks[0]
        if taken + 1 < end:
            self._blocks[0] = (taken + 1, end)
        else:
            self._blocks.popleft()
        if sum(last - first for first, last in self._blocks) <= self._low:
            self._ask()
        return taken

    def take(self, done: Callable[[int | KafkaError], None]) -> None:
        """The next id, at once if there is one."""
        self.when_stocked(lambda error: done(self.take_now() if error is None else error))

    def when_stocked(self, done: Callable[[KafkaError | None], None]) -> None:
        """`done` when `take_now` has an id, or with the reason why there is none."""
        if self._blocks and not self._waiting:
            done(None)
            return
        self._waiting.append(done)
        self._ask()

    def _ask(self) -> None:
        if not self._is_asking:
            self._is_asking = True
            self._allocate(self._allocated)

    def _allocated(self, block: tuple[int, int] | KafkaError) -> None:
        self._is_asking = False
        if isinstance(block, KafkaError):
            waiting, self._waiting = self._waiting, deque()
            for done in waiting:
                done(block)
            return
        first, count = block
        self._blocks.append((first, first + count))
        self._low = count // _FETCH_AHEAD
        while self._waiting and self._blocks:
            self._waiting.popleft()(None)
        if self._waiting:
            self._ask()
