"""A new checkpoint that begins where it is told, with batch numbers that go on.

Spark numbers the batches of a checkpoint from 0, and outputs recognise a repeated batch by its
number: its own file output would skip every batch of a new checkpoint whose number it has seen.
So a new generation without state is written as if it had just finished the last batch of the one
before, at the offsets where it is to begin; Spark then goes on with the next number.

State is kept by batch number as well, so a generation that drops state has to begin at 0.
"""

from __future__ import annotations

import json
import os
from uuid import uuid4

from headrace.spark.errors import PipelineError
from headrace.spark.offsets import OffsetJson
from headrace.spark.pipelines.checkpoint_files import is_kafka, local_path

_COMMIT = 'v1\n{"nextBatchWatermarkMs":0}'
_VERSION = "v1"
_FILE_SINK = "FileSink["
_FILE_SINK_LOG = "_spark_metadata"


def continue_numbers(before: str, after: str, starting: OffsetJson, sources: int) -> bool:
    """Write the new checkpoint; False if that cannot be done, and it has to begin with batch 0."""
    old, new = local_path(before), local_path(after)
    if old is None or new is None:
        return False
    planned = _last_planned(old)
    if planned is None:
        return False
    batch_id, lines = planned
    moved = _moved(lines[2:], starting)
    if lines[0] != _VERSION or moved is None or len(moved) != sources:
        return False
    # Spark looks at the last two batches that were planned, and at the last that finished.
    for number in range(max(batch_id - 1, 0), batch_id + 1):
        _write(os.path.join(new, "offsets", str(number)), "\n".join([*lines[:2], *moved]))
    _write(os.path.join(new, "commits", str(batch_id)), _COMMIT)
    # The id of the query; outputs that remember batches by it see another query.
    _write(os.path.join(new, "metadata"), json.dumps({"id": str(uuid4())}))
    return True


def check_output(name: str, sink: str) -> None:
    """Refuse to number batches from 0 again for an output that would skip them."""
    if not sink.startswith(_FILE_SINK):
        return
    path = sink[len(_FILE_SINK) :].rstrip("]")
    log = os.path.join(local_path(path) or path, _FILE_SINK_LOG)
    if os.path.isdir(log):
        raise PipelineError(
            f"Pipeline {name} starts again with batch 0, and Spark's file output {path} would skip"
            f" the batches whose numbers it has: give it another path, or remove {log}."
        )


def _last_planned(checkpoint: str) -> tuple[int, list[str]] | None:
    directory = os.path.join(checkpoint, "offsets")
    try:
        batches = [int(name) for name in os.listdir(directory) if name.isdecimal()]
        if not batches:
            return None
        with open(os.path.join(directory, str(max(batches))), encoding="utf-8") as file:
            return max(batches), file.read().splitlines()
    except OSError:
        return None


def _moved(lines: list[str], starting: OffsetJson) -> list[str] | None:
    """The line of each source at its new offsets; None if one of them is no Kafka source."""
    moved = []
    for line in lines:
        try:
            source = json.loads(line)
        except ValueError:
            return None
        if not is_kafka(source):
            return None
        there = {topic: starting.get(topic, partitions) for topic, partitions in source.items()}
        moved.append(json.dumps(there))
    return moved


def _write(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
