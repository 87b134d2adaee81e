"""The steady producer of `bench/java/PacedProducer.java`, stopped when the scenario says so."""

import math
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from bench.client_programs import ClientFailedError, bench_java_command, parse_figures
from bench.peer import Peer

#: For the JVM itself; every other limit is the program's own, and becomes part of its figures.
_JVM_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast and how long: the warm-up is not measured."""

    records_per_second: int = 1000
    warmup_seconds: int = 8
    seconds_most: int = 20
    #: Until every partition has taken its first record, before the warm-up.
    first_seconds_most: int = 120
    #: For answers that are still missing at the end.
    beyond_seconds: int = 30

    @property
    def limit_seconds(self) -> int:
        """When it is over whatever the broker does."""
        measured = self.warmup_seconds + self.seconds_most
        return self.first_seconds_most + measured + self.beyond_seconds


class PacedProducer:
    """A child process that measures how long acknowledgements take."""

    def __init__(self, peer: Peer, topics: Sequence[str], partitions: int, pace: Pace) -> None:
        self._pace = pace
        # A file, not a pipe: a client that warns of each of 10,000 partitions would wait for
        # somebody to read it.
        self._errors = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115 - closed at exit
        self._process = subprocess.Popen(
            bench_java_command(
                "PacedProducer",
                *(peer.bootstrap, ",".join(topics), partitions),
                *(pace.records_per_second, pace.warmup_seconds, pace.seconds_most),
                *(pace.first_seconds_most, pace.beyond_seconds),
            ),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.communicate()
        self._errors.close()

    def wait_until_measuring(self) -> None:
        """Return when the warm-up is over."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if line.strip() != "measuring":
            self._process.wait(timeout=_JVM_SECONDS)
            raise ClientFailedError(f"PacedProducer failed before it measured\n{self._said()}")

    def wait(self) -> dict[str, float]:
        """Let it run for its full time; the latencies in milliseconds."""
        self._process.wait(timeout=self._pace.limit_seconds + _JVM_SECONDS)
        return self.stop()

    def stop(self) -> dict[str, float]:
        """End it now; the latencies in milliseconds."""
        output, _ = self._process.communicate(timeout=self._pace.beyond_seconds + _JVM_SECONDS)
        if self._process.returncode != 0:
            raise ClientFailedError(f"PacedProducer failed\n{self._said()}")
        figures = parse_figures(output)
        if figures["first_records_seconds"] < 0:  # not within its limit
            figures["first_records_seconds"] = math.inf
        return figures

    def _said(self) -> str:
        """The end of what it wrote to its standard error."""
        self._errors.seek(0)
        return "".join(self._errors.readlines()[-50:])


def shown_latency(figures: dict[str, float], name: str, share: float) -> str:
    """A percentile for a table; records without an answer have waited at least that long."""
    open_ended = figures["unanswered"] > (1 - share) * figures["records"]
    return f"{'over ' if open_ended else ''}{figures[name]:.2f} ms"
