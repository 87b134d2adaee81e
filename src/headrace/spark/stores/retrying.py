"""Another try at a target that is down: longer and longer waits, but not for ever."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from headrace.spark.stores.errors import StoreUnavailable, of_task

T = TypeVar("T")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Retries:
    """Waits that double up to a longest one, and end once they add up to `seconds`."""

    seconds: float = 60.0
    first_wait: float = 0.25
    longest_wait: float = 8.0

    def waits(self) -> Iterator[float]:
        """How long to wait before each further try."""
        left, wait = self.seconds, self.first_wait
        while left > 0:
            now = min(wait, left)
            yield now
            left -= now
            wait = min(wait * 2, self.longest_wait)


def with_retries(
    work: Callable[[], T], retries: Retries, *, sleep: Callable[[float], None] = time.sleep
) -> T:
    """Do the work again while the target is down; its last failure is raised, as one sentence."""
    waits = retries.waits()
    while True:
        try:
            return work()
        except Exception as error:  # as whatever Spark wraps it
            ours = of_task(error)
            if ours is None:
                raise
            wait = next(waits, None) if isinstance(ours, StoreUnavailable) else None
            if wait is None:
                # What Spark wrapped around the sentence helps nobody.
                raise ours from None
            _log.warning("%s; trying again in %.2f s", ours, wait)
        sleep(wait)
