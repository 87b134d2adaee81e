"""Does work that is too long for one turn of the loop, some steps in each."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator
from typing import TypeVar

from headrace.base.errors import ErrorCode, KafkaError

logger = logging.getLogger(__name__)

T = TypeVar("T")
Soon = Callable[[Callable[[], None]], None]


def in_steps(
    steps: Generator[None, None, T],
    at_once: int,
    soon: Soon,
    is_wanted: Callable[[], bool],
    done: Callable[[T | KafkaError], None],
) -> None:
    """Take the first steps now and the others in turns to come; `done` gets what they return.

    It gets an error if a step raises, and nothing happens any more once the work is not wanted.
    """

    def run() -> None:
        if not is_wanted():
            return
        result: T | KafkaError
        try:
            for _ in range(at_once):
                next(steps)
        except StopIteration as end:
            result = end.value
        except KafkaError as error:
            result = error
        except Exception:  # the edge of one event
            logger.exception("a step of a long work failed")
            result = KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
        else:
            soon(run)
            return
        done(result)

    run()


def to_the_end(steps: Generator[object, None, T]) -> T:
    """All steps at once, where there cannot be many."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result


def joined(steps: Generator[None, None, T], count: int) -> Generator[None, None, T]:
    """One step for `count` of these."""
    while True:
        try:
            for _ in range(count):
                next(steps)
        except StopIteration as end:
            result: T = end.value
            return result
        yield
