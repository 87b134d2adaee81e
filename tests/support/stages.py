"""What a client in another thread is doing, so that a kill can meet it in the middle of that."""

import threading


class Stages:
    """The thread says what it begins; others wait until it begins something."""

    def __init__(self) -> None:
        self._begun: dict[str, int] = {}
        self._changed = threading.Condition()

    def begin(self, stage: str) -> None:
        with self._changed:
            self._begun[stage] = self._begun.get(stage, 0) + 1
            self._changed.notify_all()

    def wait_for(self, stage: str, times: int, timeout: float = 60.0) -> None:
        """Until it has begun this so many times more."""
        with self._changed:
            wanted = self._begun.get(stage, 0) + times
            is_there = self._changed.wait_for(lambda: self._begun.get(stage, 0) >= wanted, timeout)
        assert is_there, f"'{stage}' was not begun within {timeout} s"
