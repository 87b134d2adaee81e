"""Waiting for something to read, on descriptors of any number; `select` knows only 1,024."""

from __future__ import annotations

import select
from collections.abc import Sequence
from typing import Protocol, TypeVar


class HasFileno(Protocol):
    """A socket, a pipe, a connection."""

    def fileno(self) -> int: ...


F = TypeVar("F", bound=HasFileno)


def wait_readable(sources: Sequence[F], timeout_s: float) -> list[F]:
    """Those sources that have something to read, or ended; empty when time is up."""
    poll = select.poll()
    by_fd = {source.fileno(): source for source in sources}
    for fd in by_fd:
        poll.register(fd, select.POLLIN)
    return [by_fd[fd] for fd, _ in poll.poll(max(timeout_s, 0.0) * 1000.0)]


def is_readable(fd: int, timeout_s: float) -> bool:
    """The same for a bare descriptor."""
    timeout_s = max(timeout_s, 0.0)
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    found = poll.poll(timeout_s * 1000.0)
    if found and found[0][1] & select.POLLNVAL:
        # A Mac's `poll` may not know terminals and other devices; its `select` does.
        try:
            return bool(select.select([fd], [], [], timeout_s)[0])
        except ValueError:
            return True  # beyond what `select` knows: whoever reads will hear what is wrong
    return bool(found)
