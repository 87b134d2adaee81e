"""How a query does, added up from the progress that Spark reports after each batch."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from headrace.spark.offsets import OffsetJson
from headrace.spark.pipelines.checkpoint_files import kafka_offsets

#: Rates are those of the last seconds: shorter ones jump, longer ones lag behind.
_WINDOW_MS = 10_000
_BATCHES_KEPT = 20


@dataclass(frozen=True, slots=True)
class Batch:
    """A finished batch."""

    batch_id: int
    finished_ms: int
    duration_ms: int
    rows_in: int
    #: None if the output does not count.
    rows_out: int | None
    #: Milliseconds of each part, in Spark's words.
    parts: dict[str, int]


@dataclass(slots=True)
class Statistics:
    """Sums since the start of the run, and the last batches."""

    started_ms: int
    batches: int = 0
    rows_in: int = 0
    rows_out: int | None = None
    recent: deque[Batch] = field(default_factory=lambda: deque(maxlen=_BATCHES_KEPT))
    offsets: OffsetJson = field(default_factory=dict)
    state_rows: int = 0
    state_bytes: int = 0
    late_rows: int = 0
    state_operators: int = 0
    watermark: str | None = None
    #: What Spark calls the output.
    sink: str = ""
    first: Batch | None = None
    _window: deque[Batch] = field(default_factory=deque)

    @property
    def last(self) -> Batch | None:
        return self.recent[-1] if self.recent else None

    def add(self, progress: dict[str, Any]) -> Batch:
        """Take in what Spark reported of a batch."""
        batch = _batch(progress)
        self.batches += 1
        self.rows_in += batch.rows_in
        if batch.rows_out is not None:
            self.rows_out = (self.rows_out or 0) + batch.rows_out
        self.first = self.first or batch
        self.recent.append(batch)
        self._window.append(batch)
        ends = [source.get("endOffset") for source in progress.get("sources", ())]
        self.offsets = kafka_offsets(ends) or self.offsets
        self.sink = _sink_name(str(progress.get("sink", {}).get("description", "")))
        self._add_state(progress.get("stateOperators", ()))
        self.watermark = progress.get("eventTime", {}).get("watermark", self.watermark)
        return batch

    def rate(self, now_ms: int) -> float:
        """Rows a second over the last seconds."""
        while self._window and self._window[0].finished_ms < now_ms - _WINDOW_MS:
            self._window.popleft()
        if not self._window:
            return 0.0
        first = self._window[0]
        begun = max(first.finished_ms - first.duration_ms, self.started_ms, now_ms - _WINDOW_MS)
        return sum(b.rows_in for b in self._window) * 1000 / max(now_ms - begun, 1000)

    def batch_ms(self) -> int | None:
        """How long the last batches with rows took, on average."""
        busy = [batch.duration_ms for batch in self.recent if batch.rows_in]
        return round(sum(busy[-5:]) / len(busy[-5:])) if busy else None

    def _add_state(self, operators: Any) -> None:
        self.state_operators = len(operators)
        self.state_rows = sum(int(row.get("numRowsTotal", 0)) for row in operators)
        self.state_bytes = sum(int(row.get("memoryUsedBytes", 0)) for row in operators)
        self.late_rows += sum(int(row.get("numRowsDroppedByWatermark", 0)) for row in operators)


def _batch(progress: dict[str, Any]) -> Batch:
    parts = {name: int(value) for name, value in progress.get("durationMs", {}).items()}
    duration = int(progress.get("batchDuration", parts.get("triggerExecution", 0)))
    rows_out = int(progress.get("sink", {}).get("numOutputRows", -1))
    return Batch(
        batch_id=int(progress["batchId"]),
        finished_ms=parse_ms(str(progress["timestamp"])) + duration,
        duration_ms=duration,
        rows_in=int(progress.get("numInputRows", 0)),
        rows_out=None if rows_out < 0 else rows_out,
        parts=parts,
    )


def _sink_name(description: str) -> str:
    """Without package names and object ids: `NoopTable`, `FileSink[/data/out]`."""
    plain = re.sub(r"\$?@[0-9a-f]+$", "", description)
    return plain if "/" in plain else plain.rpartition(".")[2]


def parse_ms(text: str) -> int:
    """`2026-11-16T04:05:16.258Z` as milliseconds since 1970."""
    return round(datetime.fromisoformat(text).timestamp() * 1000)
