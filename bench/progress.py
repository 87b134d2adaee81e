"""Says on the terminal what was just measured and how long the rest will take."""

import time
from collections import Counter
from collections.abc import Iterable, Mapping

#: Before a step was seen, it is taken to last this long.
_GUESS_SECONDS = 15.0


class Progress:
    """Counts steps down; a step that comes again is expected to take as long as the last time."""

    def __init__(self, steps: Iterable[str]) -> None:
        self._left = Counter(steps)
        self._total = self._left.total()
        self._took: dict[str, float] = {}
        self._began = time.monotonic()

    def done(self, step: str, took_seconds: float, text: str) -> None:
        """One step is over; print its line."""
        self._left[step] -= 1
        self._took[step] = took_seconds
        number = self._total - self._left.total()
        left = sum(
            count * self._took.get(name, self._guess()) for name, count in self._left.items()
        )
        print(f"[{number}/{self._total}] {text} | {took_seconds:.0f} s, {_left(left)}", flush=True)

    def _guess(self) -> float:
        seen = self._took.values()
        return sum(seen) / len(seen) if seen else _GUESS_SECONDS

    @property
    def elapsed_seconds(self) -> float:
        return time.monotonic() - self._began


def _left(seconds: float) -> str:
    if seconds < 1:
        return "that was all"
    if seconds < 90:
        return f"about {seconds:.0f} s left"
    return f"about {seconds / 60:.0f} min left"


def shown(figures: Mapping[str, float]) -> str:
    """Figures on one line, short."""
    return ", ".join(f"{name} {_short(value)}" for name, value in figures.items())


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
