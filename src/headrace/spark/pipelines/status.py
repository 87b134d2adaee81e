"""How a pipeline goes, as the JSON of `status.json`: the words that other programs rely on."""

from __future__ import annotations

import os
import socket
import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from headrace.spark.offsets import OffsetJson
from headrace.spark.pipelines.group_offsets import total
from headrace.spark.pipelines.statistics import Batch, Statistics

VERSION = 1

#: `finished` is a run with --once that read everything; `stopped` was asked for.
STARTING, RUNNING, RETRYING, STOPPING = "starting", "running", "retrying", "stopping"
STOPPED, FINISHED, FAILED = "stopped", "finished", "failed"
ENDED = (STOPPED, FINISHED, FAILED)


@dataclass(slots=True)
class RunStatus:
    """What a run knows of itself; one thread writes it, others read."""

    name: str
    group: str
    statistics: Statistics
    state: str = STARTING
    master: str = ""
    generation: int = 1
    checkpoint: str = ""
    batch_id: int | None = None
    lag: OffsetJson | None = None
    restarts: int = 0
    #: Milliseconds from the start of the program to the first batch, part by part.
    first_batch_parts: dict[str, int] = field(default_factory=dict)
    last_error: str | None = None
    last_error_ms: int | None = None
    #: Whether the group is behind because its offsets could not be committed.
    commit_error: str | None = None
    #: Around changes of the statistics, so that a reader sees them whole.
    lock: threading.Lock = field(default_factory=threading.Lock)

    def lag_total(self) -> int | None:
        return None if self.lag is None else total(self.lag.values())

    def as_json(self, now_ms: int) -> dict[str, Any]:
        with self.lock:
            return self._as_json(now_ms)

    def _as_json(self, now_ms: int) -> dict[str, Any]:
        numbers = self.statistics
        last = numbers.last
        return {
            "version": VERSION,
            "name": self.name,
            "state": self.state,
            "group": self.group,
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "master": self.master,
            "startedAt": timestamp(numbers.started_ms),
            "updatedAt": timestamp(now_ms),
            "generation": self.generation,
            "checkpoint": self.checkpoint,
            "batchId": self.batch_id,
            "batches": numbers.batches,
            "rowsIn": numbers.rows_in,
            "rowsOut": numbers.rows_out,
            "rowsPerSecond": round(numbers.rate(now_ms), 1),
            "batchMs": numbers.batch_ms(),
            "lag": self.lag_total(),
            "lagByPartition": self.lag,
            "offsets": numbers.offsets,
            "watermark": numbers.watermark,
            "stateRows": numbers.state_rows if numbers.state_operators else None,
            "stateBytes": numbers.state_bytes if numbers.state_operators else None,
            "lateRows": numbers.late_rows if numbers.state_operators else None,
            "firstBatchMs": self.first_batch_parts or None,
            "lastBatch": None if last is None else batch_json(last),
            "recentBatches": [batch_json(batch) for batch in list(numbers.recent)[-5:]],
            "restarts": self.restarts,
            "lastError": self.last_error,
            "lastErrorAt": None if self.last_error_ms is None else timestamp(self.last_error_ms),
            "commitError": self.commit_error,
        }


def batch_json(batch: Batch) -> dict[str, Any]:
    return {
        "batchId": batch.batch_id,
        "finishedAt": timestamp(batch.finished_ms),
        "durationMs": batch.duration_ms,
        "rowsIn": batch.rows_in,
        "rowsOut": batch.rows_out,
        "parts": batch.parts,
    }


def timestamp(ms: int) -> str:
    moment = datetime.fromtimestamp(ms / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
