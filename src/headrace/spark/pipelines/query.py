"""A streaming query as the runner sees it: progress since the last look, and a gentle stop.

Progress is looked up rather than listened to. A Python listener is called through py4j from a bus
that drops events when it is full and loses the last ones of a query that stops; Spark's own list of
recent progress has every finished batch, also after the end.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable
from typing import Any

_LOOK_SECONDS = 0.02
#: A source that heeds no pause goes on: so many batches are waited for.
_BATCHES_MAX = 2


class Query:
    """A started query."""

    def __init__(self, started: Any, pause_file: str) -> None:
        self._query = started
        self._pause_file = pause_file
        self._seen = ""
        #: Whether it ran until we stopped it; what Spark says of a batch that it broke off is no
        #: failure then.
        self.was_stopped = False

    @property
    def is_active(self) -> bool:
        return bool(self._query.isActive)

    def new_progress(self) -> list[dict[str, Any]]:
        """The progress of each batch that finished since the last call, the oldest first."""
        last = self._query._jsq.lastProgress()
        if last is None or last.timestamp() == self._seen:
            return []
        found: list[dict[str, Any]] = []
        recent = self._query._jsq.recentProgress()
        for index in range(len(recent) - 1, -1, -1):
            if recent[index].timestamp() <= self._seen:
                break
            found.append(json.loads(recent[index].json()))
        if found:
            self._seen = str(found[0]["timestamp"])
        # A trigger that found nothing new is reported too, now and then.
        return [row for row in reversed(found) if "addBatch" in row.get("durationMs", {})]

    def exception_text(self) -> str | None:
        """What ended the query; None if it was stopped or had read everything."""
        error = self._query.exception()
        return None if error is None else str(error)

    def stop(self, wait_seconds: float, hurry: Callable[[], bool]) -> None:
        """Let the running batch end, then stop.

        Spark's own stop cancels the batch that runs, which is replayed at the next start: correct,
        but at-least-once outputs would write it twice.
        """
        # On a full disk there is no file, and new batches may begin until Spark stops.
        with contextlib.suppress(OSError), open(self._pause_file, "w", encoding="utf-8"):
            pass
        try:
            self._wait(wait_seconds, hurry)
            self.was_stopped = self.is_active
            self._query.stop()
        finally:
            with contextlib.suppress(OSError):
                os.unlink(self._pause_file)

    def _wait(self, wait_seconds: float, hurry: Callable[[], bool]) -> None:
        deadline = time.monotonic() + wait_seconds
        first = self._batch_id()
        while time.monotonic() < deadline and not hurry() and self.is_active:
            if not self._query.status["isTriggerActive"]:
                return
            if self._batch_id() >= first + _BATCHES_MAX:
                return
            time.sleep(_LOOK_SECONDS)

    def _batch_id(self) -> int:
        last = self._query._jsq.lastProgress()
        return -1 if last is None else int(last.batchId())
