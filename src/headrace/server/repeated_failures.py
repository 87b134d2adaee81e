"""How periodic work tells its log what fails: once in full, and rarely while nothing changes.

Some of this work is done each second, and a traceback each time would hide everything else.
"""

from __future__ import annotations

import logging

logger = logging.getLogger(__name__)

#: Work that goes away while it fails never succeeds, such as compacting a topic that is deleted.
KINDS_MAX = 1_000


class RepeatedFailures:
    """What failed last in each kind of work."""

    __slots__ = ("_last",)

    def __init__(self) -> None:
        #: Per kind of work, the error and how often it came in a row; the last told comes last.
        self._last: dict[str, tuple[str, int]] = {}

    def tell(self, what: str, error: Exception) -> None:
        """With a traceback if the error is another than before; else at every doubling, a line."""
        told = f"{type(error).__name__}: {error}"
        last, times = self._last.pop(what, ("", 0))
        times = times + 1 if told == last else 1
        self._last[what] = (told, times)
        if len(self._last) > KINDS_MAX:
            del self._last[next(iter(self._last))]
        if times == 1:
            logger.error("%s failed", what, exc_info=error)
        elif times & (times - 1) == 0:
            logger.error("%s failed %d times in a row: %s", what, times, told)

    def succeeded(self, what: str) -> None:
        """Whatever fails next is news again."""
        self._last.pop(what, None)
