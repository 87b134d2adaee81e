"""Spark's own Kafka connector, driven from tests: what it reads, writes and copies."""

import base64
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.node import Node
from tests.support.tools import REPOSITORY, missing, require_program

_JARS = REPOSITORY / ".cache" / "java" / "spark"
_SECONDS = 150.0

Step = dict[str, Any]
Headers = tuple[tuple[str, bytes | None], ...]


class Read(NamedTuple):
    """A row of the connector's source."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()


class Written(NamedTuple):
    """A row for the connector's sink; without a partition the producer chooses one."""

    topic: str
    partition: int | None
    key: bytes | None
    value: bytes | None
    headers: Headers = ()


def require_spark() -> str:
    """The connector's jars as Spark wants them named, with Java and PySpark there."""
    require_program("java")
    jars = sorted(_JARS.glob("*.jar"))
    if find_spec("pyspark") is None or not jars:
        missing("PySpark or the jars of its Kafka connector are not there; `make spark` fetches")
    return ",".join(map(str, jars))


def read_step(node: Node, **options: str) -> Step:
    return {"do": "read", "options": _options(node, options)}


def write_step(node: Node, rows: Sequence[Written], **options: str) -> Step:
    plain = [
        (
            *(row.topic, row.partition, _text(row.key), _text(row.value)),
            [(name, _text(value)) for name, value in row.headers],
        )
        for row in rows
    ]
    return {"do": "write", "rows": plain, "options": _options(node, options)}


def copy_step(
    node: Node, topic: str, checkpoint: Path, *, available_now: bool = True, **options: str
) -> Step:
    """A stream into the topic; the options are those of the source."""
    return {
        "do": "copy",
        "options": _options(node, options),
        "sink": _options(node, {"topic": topic}),
        "checkpoint": str(checkpoint),
        "available_now": available_now,
    }


def start_spark(steps: Sequence[Step], output: Path) -> subprocess.Popen[bytes]:
    """A driver that works through the steps; its output goes into the file."""
    command = [sys.executable, "-m", "tests.support.spark_steps", require_spark()]
    with output.open("wb") as stream, output.with_suffix(".err").open("ab") as errors:
        return subprocess.Popen(
            [*command, json.dumps(steps)],
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=errors,
            cwd=REPOSITORY,
        )


def run_spark(steps: Sequence[Step], output: Path) -> list[Any]:
    """What each step gave: rows of a read, and how many rows a write or a copy had."""
    process = start_spark(steps, output)
    try:
        code = process.wait(_SECONDS)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    assert code == 0, output.with_suffix(".err").read_text()[-6000:]
    return [_result(json.loads(line)) for line in output.read_text().splitlines()]


def _result(found: object) -> object:
    if not isinstance(found, list):
        return found
    return [
        Read(
            *(topic, partition, offset, timestamp, _bytes(key), _bytes(value)),
            tuple((name, _bytes(it)) for name, it in headers),
        )
        for topic, partition, offset, timestamp, key, value, headers in found
    ]


def _options(node: Node, options: Mapping[str, str]) -> dict[str, str]:
    named = {name.replace("__", "."): value for name, value in options.items()}
    return {"kafka.bootstrap.servers": node.bootstrap, **named}


def _text(value: bytes | None) -> str | None:
    return None if value is None else base64.b64encode(value).decode()


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)
