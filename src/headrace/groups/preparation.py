"""Long work that an event needs done before it can happen.

Turning a group of 10,000 members into one of the other protocol takes a second. An event that
finds this to be done raises `Unprepared` before it has changed anything. Whoever runs the
coordinator takes the steps, lets others have their turn between them, but nothing happen to this
coordinator, and then lets the same event happen again, which finds everything prepared.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Generic, TypeVar

from headrace.groups.consumer.assignors.spec import Steps, finish

T = TypeVar("T")


class Unprepared(Exception):
    """Take these steps, then let the event happen again."""

    def __init__(self, steps: Generator[None, None, None]) -> None:
        super().__init__("something has to be prepared first")
        self.steps = steps


class Preparation(Generic[T]):
    """One result at a time: the event that asked for it is the next one to happen."""

    def __init__(self) -> None:
        self._prepared: tuple[object, T | Exception] | None = None

    def require(self, key: object, make: Callable[[], Steps[T]], *, is_large: bool) -> T:
        """What `make` makes: at once, or, if that is much, once it has been prepared.

        `key` must be equal when the same event comes again.
        """
        if not is_large:
            return finish(make())
        prepared, self._prepared = self._prepared, None
        if prepared is None or prepared[0] != key:
            raise Unprepared(self._steps(key, make()))
        result = prepared[1]
        if isinstance(result, Exception):
            raise result
        return result

    def _steps(self, key: object, steps: Steps[T]) -> Generator[None, None, None]:
        result: T | Exception
        try:
            result = yield from steps
        except Exception as error:  # noqa: BLE001 - whoever asked for the result hears of it
            result = error
        self._prepared = (key, result)
