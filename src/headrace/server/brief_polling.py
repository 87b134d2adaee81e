"""Looks for the next request for a moment before the node sleeps, while requests follow closely.

A client that waits for each answer sends its next request a few dozen microseconds after it. Going
to sleep and being woken again takes as long, and on a virtual machine, where an idle processor is
given back to the host, longer than serving the request. So a node that serves one small request
after the other goes on looking at its sockets for a little, and offers the processor to everybody
else at each look: a client's thread never waits for it.

Who takes such an offer for long is no client but somebody with much to do. Then it is better to
sleep: the kernel gives a thread that wakes up the processor at once, but not one that offered it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

#: Requests that come with no more than this between them follow closely.
_SOON_NS = 200_000
#: After so many of them the next one is likely to follow closely, too. Producer and consumer that
#: exchange a record now and then send two at a time.
_IN_A_ROW = 2
#: Who has the processor for longer than this is no client between two requests: whoever computes
#: takes a whole turn, milliseconds. It may be over in a moment, so the first rest is short, and
#: each one soon after another is twice as long.
_CROWDED_NS = 1_000_000
_REST_NS_MIN = 5_000_000
_REST_NS_MAX = 200_000_000
#: How long after a rest the next one counts as another.
_CALM_NS = 1_000_000_000


def may_poll() -> bool:
    """Whether there is a second processor for clients, and a way to offer ours to them."""
    if not hasattr(os, "sched_yield") or not hasattr(os, "sched_getaffinity"):
        return False
    return len(os.sched_getaffinity(0)) > 1


def _give_way() -> None:
    os.sched_yield()


class BriefPolling:
    """Decides for one event loop; connections tell it of small requests."""

    __slots__ = (
        "_call_soon",
        "_for_ns",
        "_give_way",
        "_is_looking",
        "_last_ns",
        "_now_ns",
        "_rest_ns",
        "_rest_until_ns",
        "_row",
        "_until_ns",
    )

    def __init__(
        self,
        for_us: int,
        call_soon: Callable[[Callable[[], None]], object],
        now_ns: Callable[[], int] = time.perf_counter_ns,
        give_way: Callable[[], None] = _give_way,
    ) -> None:
        """`for_us` is how long to look after a request; 0: never."""
        self._for_ns = for_us * 1_000
        self._call_soon = call_soon
        self._now_ns = now_ns
        self._give_way = give_way
        self._last_ns = -_SOON_NS
        self._until_ns = 0
        self._rest_ns = _REST_NS_MIN
        self._rest_until_ns = -_CALM_NS
        self._row = 0
        self._is_looking = False

    def served(self) -> None:
        """A small request has just been served."""
        if not self._for_ns:
            return
        now_ns = self._now_ns()
        is_soon = now_ns - self._last_ns < _SOON_NS
        self._last_ns = now_ns
        self._row = self._row + 1 if is_soon else 0
        if self._row >= _IN_A_ROW and now_ns >= self._rest_until_ns:
            self._until_ns = now_ns + self._for_ns
            if not self._is_looking:
                self._is_looking = True
                self._call_soon(self._look)

    def _look(self) -> None:
        """The loop looks at its sockets without waiting as long as there is something to call."""
        now_ns = self._now_ns()
        if now_ns < self._until_ns:
            self._give_way()
            again_ns = self._now_ns()
            if again_ns - now_ns < _CROWDED_NS:
                self._call_soon(self._look)
                return
            self._rest(again_ns)
        self._is_looking = False

    def _rest(self, now_ns: int) -> None:
        is_another = now_ns - self._rest_until_ns < _CALM_NS
        self._rest_ns = min(2 * self._rest_ns, _REST_NS_MAX) if is_another else _REST_NS_MIN
        self._rest_until_ns = now_ns + self._rest_ns


#: For loops that share their process or their only processor.
NO_POLLING = BriefPolling(0, lambda _: None)
