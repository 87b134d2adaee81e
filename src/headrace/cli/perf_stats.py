"""The figures of `producer-perf-test`, and the lines Kafka prints of them."""

from __future__ import annotations

import sys
import time
from typing import Any

from headrace.cli.output import print_json_line
from headrace.cli.perf_client import percentile

_SAMPLES_MAX = 500_000
_MB = 1024.0 * 1024.0
_SHARES = {"50th": 0.5, "95th": 0.95, "99th": 0.99, "99.9th": 0.999}


class Measured:
    """Counts and latencies of a stretch of the run."""

    def __init__(self, records: int) -> None:
        self._sampling = max(records // _SAMPLES_MAX, 1)
        self._started = time.monotonic()
        self._latencies_ms: list[float] = []
        self._latency_sum_ms = 0.0
        self._latency_max_ms = 0.0
        self.count = 0
        self.bytes = 0

    def record(self, latency_ms: float, size: int) -> None:
        if self.count % self._sampling == 0:
            self._latencies_ms.append(latency_ms)
        self.count += 1
        self.bytes += size
        self._latency_sum_ms += latency_ms
        if latency_ms > self._latency_max_ms:
            self._latency_max_ms = latency_ms

    @property
    def elapsed_ms(self) -> float:
        return (time.monotonic() - self._started) * 1000

    def window_line(self) -> str:
        rate, mb = self._rates()
        return (
            f"{self.count} records sent, {rate:.1f} records/sec ({mb:.2f} MB/sec),"
            f" {self._average():.1f} ms avg latency, {self._latency_max_ms:.1f} ms max latency."
        )

    def total_line(self, label: str = "") -> str:
        rate, mb = self._rates()
        shares = ", ".join(f"{value} ms {name}" for name, value in self.percentiles_ms().items())
        return (
            f"{self.count}{label} records sent, {rate:f} records/sec ({mb:.2f} MB/sec),"
            f" {self._average():.2f} ms avg latency, {self._latency_max_ms:.2f} ms max latency,"
            f" {shares}."
        )

    def figures(self) -> dict[str, object]:
        """What the lines say, for programs."""
        rate, mb = self._rates()
        return {
            "records": self.count,
            "recordsPerSec": rate,
            "mbPerSec": mb,
            "avgLatencyMs": self._average(),
            "maxLatencyMs": self._latency_max_ms,
        }

    def percentiles_ms(self) -> dict[str, int]:
        ordered = sorted(self._latencies_ms)
        return {name: percentile(ordered, share) for name, share in _SHARES.items()}

    def _average(self) -> float:
        return self._latency_sum_ms / self.count if self.count else 0.0

    def _rates(self) -> tuple[float, float]:
        seconds = max(self.elapsed_ms, 0.001) / 1000
        return self.count / seconds, self.bytes / seconds / _MB


class ProducerStats:
    """Takes each acknowledgement, prints progress, and sums up at the end."""

    def __init__(self, records: int, warmup: int, interval_ms: int, *, as_json: bool) -> None:
        self._as_json = as_json
        self._warmup = warmup
        self._interval_ms = interval_ms
        self._total = Measured(records)
        self._steady: Measured | None = None
        self._is_steady_told = False
        self._records = records
        self._window = Measured(records)
        self.failures = 0

    def on_delivery(self, error: Any, message: Any) -> None:
        """Called by confluent-kafka for each record."""
        if error is not None:
            self.failures += 1
            if self.failures == 1:
                print(f"A record could not be sent: {error.str()}", file=sys.stderr)
            return
        latency_ms = message.latency() * 1000
        size = len(message)
        self._total.record(latency_ms, size)
        self._window.record(latency_ms, size)
        if self._steady is not None:
            self._steady.record(latency_ms, size)
        elif self._warmup and self._total.count == self._warmup:
            self._steady = Measured(self._records - self._warmup)
            self._window = Measured(self._records)
        if self._window.elapsed_ms >= self._interval_ms:
            self._print_window()
            self._window = Measured(self._records)

    def _print_window(self) -> None:
        if self._as_json:
            print_json_line({"kind": "window", **self._window.figures()}, flush=True)
            return
        if self._steady is not None and not self._is_steady_told:
            print("In steady state.")
            self._is_steady_told = True
        print(self._window.window_line(), flush=True)

    def finish(self) -> None:
        self._print_total("total", self._total)
        if self._steady is not None:
            self._print_total("steady", self._steady, " steady state")
        if self.failures:
            print(f"{self.failures} records could not be sent.", file=sys.stderr)

    def _print_total(self, kind: str, measured: Measured, label: str = "") -> None:
        if self._as_json:
            percentiles = {"latencyPercentilesMs": measured.percentiles_ms()}
            print_json_line({"kind": kind, **measured.figures(), **percentiles})
        else:
            print(measured.total_line(label))
