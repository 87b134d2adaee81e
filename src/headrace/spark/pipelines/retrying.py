"""How often and how long a pipeline that failed is started again."""

from __future__ import annotations

from dataclasses import dataclass

_PAUSE_SECONDS = (1.0, 2.0, 4.0, 8.0, 16.0, 30.0)


@dataclass(slots=True)
class Retries:
    """Growing pauses, until nothing has worked for `limit_seconds`; a finished batch clears it."""

    limit_seconds: float
    _failures: int = 0
    _since: float | None = None

    @property
    def is_failing(self) -> bool:
        return self._since is not None

    def failed(self, now: float) -> float | None:
        """Seconds to wait before the next attempt; None if it is time to give up."""
        self._since = now if self._since is None else self._since
        self._failures += 1
        if now - self._since >= self.limit_seconds:
            return None
        return _PAUSE_SECONDS[min(self._failures, len(_PAUSE_SECONDS)) - 1]

    def worked(self) -> None:
        self._failures, self._since = 0, None
