"""Client programs as child processes: Apache's, our small Java ones, and librdkafka's.

Every program gets a limited time and says what it measured itself, so that neither the start of
an interpreter nor that of a JVM is in any figure.
"""

import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.scale import Amount
from tests.support.java import DEFAULT_JVM, java_command
from tests.support.tools import REPOSITORY

#: The heap that kafka-producer-perf-test.sh and kafka-consumer-perf-test.sh give.
CLIENT_JVM = ("-Xmx512M", *DEFAULT_JVM)

TIMEOUT_SECONDS = 300

_STEADY = re.compile(r"^(\d+) steady state records sent, ([\d.]+) records/sec", re.MULTILINE)


class ClientFailedError(RuntimeError):
    """A client program failed; the message holds what it printed."""


@dataclass(frozen=True, slots=True)
class ProducerRun:
    """What one run of ProducerPerformance sends, and where."""

    topic: str
    amount: Amount
    properties: Mapping[str, str]
    record_size: int = 100


def producer_performance(bootstrap: str, run: ProducerRun, *options: str) -> float:
    """Run Apache's ProducerPerformance; returns records per second after the warm-up."""
    command = java_command(
        "ProducerPerformance",
        f"--topic={run.topic}",
        f"--num-records={run.amount.records}",
        f"--warmup-records={run.amount.warmup}",
        f"--record-size={run.record_size}",
        "--throughput=-1",
        *options,
        f"--bootstrap-server={bootstrap}",
        "--command-property",
        *(f"{name}={value}" for name, value in run.properties.items()),
        jvm=CLIENT_JVM,
    )
    output = output_of(command)
    steady = _STEADY.search(output)
    if steady is None:
        raise ClientFailedError(f"no steady state in the output of ProducerPerformance\n{output}")
    return float(steady.group(2))


def bench_java_command(name: str, *args: str | int) -> list[str]:
    """The command line of a program in `bench/java`, run from its source."""
    source = REPOSITORY / "bench" / "java" / f"{name}.java"
    return java_command(str(source), *map(str, args), jvm=CLIENT_JVM)


def bench_java(name: str, *args: str | int) -> dict[str, float]:
    """Run a program of `bench/java`; returns the figures it printed."""
    return parse_figures(output_of(bench_java_command(name, *args)))


def librdkafka_consumer(bootstrap: str, topic: str, partitions: int, records: int) -> float:
    """Read a topic with confluent-kafka in a process of its own; returns records per second."""
    output = output_of(
        [
            *(sys.executable, "-m", "bench.clients.librdkafka_consumer"),
            *(bootstrap, topic, str(partitions), str(records), str(TIMEOUT_SECONDS - 10)),
        ]
    )
    figures = parse_figures(output)
    return figures["records"] / figures["seconds"]


def librdkafka_latency(bootstrap: str, topic: str, *amounts: int) -> dict[str, float]:
    """One record in flight with confluent-kafka, in a process of its own."""
    program = (sys.executable, "-m", "bench.clients.librdkafka_latency")
    arguments = map(str, (*amounts, TIMEOUT_SECONDS - 10))
    return parse_figures(output_of([*program, bootstrap, topic, *arguments]))


def parse_figures(output: str) -> dict[str, float]:
    """The one line of JSON that our client programs print at their end."""
    figures: dict[str, Any] = json.loads(output.strip().splitlines()[-1])
    return {name: float(value) for name, value in figures.items()}


def output_of(command: Sequence[str]) -> str:
    """Run a client program to its end; what it printed."""
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
        cwd=REPOSITORY,
    )
    if done.returncode != 0:
        raise ClientFailedError(
            f"{' '.join(command[-12:])}\nended with {done.returncode}\n{done.stdout}\n{done.stderr}"
        )
    return done.stdout
