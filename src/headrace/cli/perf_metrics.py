"""`--print-metrics` of the measuring tools: librdkafka's statistics in Kafka's kind of table."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

from headrace.cli.output import print_json_line, print_with_heading

_INTERVAL_MS = 200
_WAIT_SECONDS = 5.0


class LibraryMetrics:
    """The newest statistics that a client of confluent-kafka told of itself."""

    def __init__(self) -> None:
        self._newest: dict[str, Any] | None = None

    def settings(self) -> dict[str, Any]:
        """What a client needs to be told in order to tell them."""
        return {"statistics.interval.ms": _INTERVAL_MS, "stats_cb": self._take}

    def _take(self, text: str) -> None:
        self._newest = json.loads(text)

    def wait(self, poll: Callable[[float], Any]) -> None:
        """Serve the client until it tells its statistics once more, now that all is done."""
        before = self._newest
        deadline = time.monotonic() + _WAIT_SECONDS
        while self._newest is before and time.monotonic() < deadline:
            poll(_INTERVAL_MS / 1000)

    def print(self, *, as_json: bool) -> None:
        """Name and value of each number, or all of it as JSON."""
        if as_json:
            print_json_line({"kind": "metrics", "metrics": self._newest})
            return
        rows = sorted(_numbers("", self._newest or {}))
        width = max((len(name) for name, _ in rows), default=0)
        print()
        lines = [f"{name:<{width}} : {value:.3f}" for name, value in rows]
        print_with_heading([f"{'Metric Name':<{width}}   Value", *lines])


def _numbers(prefix: str, value: object) -> Iterator[tuple[str, float]]:
    """The numbers of a JSON document by their paths, such as `topics:orders:batchsize:avg`."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _numbers(f"{prefix}:{name}" if prefix else name, inner)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield prefix, float(value)
