"""Connections that go on after a wait, one after the other and never inside each other.

A request may answer one that waits on another connection, which goes on with what its client has
sent ahead; that may answer a third, and so on. Clients must not decide how deep this gets.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable

logger = logging.getLogger(__name__)


class Resumptions:
    """Runs what is added at once, or as soon as whoever is being run comes to an end."""

    __slots__ = ("_is_running", "_waiting")

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], None]] = deque()
        self._is_running = False

    def add(self, resume: Callable[[], None]) -> None:
        self._waiting.append(resume)
        if self._is_running:
            return
        self._is_running = True
        while self._waiting:
            try:
                self._waiting.popleft()()
            except Exception:  # the edge of one connection: the others go on
                logger.exception("a connection cannot go on")
        self._is_running = False
