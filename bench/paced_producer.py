"""The steady producer of `bench/java/PacedProducer.java`, stopped when the scenario says so."""

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from bench.client_programs import ClientFailedError, bench_java_command, parse_figures
from bench.peer import Peer

_STOP_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast and how long: the warm-up is not measured."""

    records_per_second: int = 1000
    warmup_seconds: int = 8
    seconds_most: int = 20


class PacedProducer:
    """A child process that measures how long acknowledgements take."""

    def __init__(self, peer: Peer, topics: Sequence[str], partitions: int, pace: Pace) -> None:
        self._pace = pace
        self._process = subprocess.Popen(
            bench_java_command(
                "PacedProducer",
                *(peer.bootstrap, ",".join(topics), partitions),
                *(pace.records_per_second, pace.warmup_seconds, pace.seconds_most),
            ),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
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

    def wait_until_measuring(self) -> None:
        """Return when the warm-up is over."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if line.strip() != "measuring":
            _, errors = self._process.communicate(timeout=_STOP_SECONDS)
            raise ClientFailedError(f"PacedProducer failed before it measured\n{errors}")

    def wait(self) -> dict[str, float]:
        """Let it run for its full time; the latencies in milliseconds."""
        assert self._process.stdin is not None
        limit = self._pace.warmup_seconds + self._pace.seconds_most + _STOP_SECONDS
        self._process.wait(timeout=limit)
        return self.stop()

    def stop(self) -> dict[str, float]:
        """End it now; the latencies in milliseconds."""
        output, errors = self._process.communicate(timeout=_STOP_SECONDS)
        if self._process.returncode != 0:
            raise ClientFailedError(f"PacedProducer failed\n{errors}")
        return parse_figures(output)
