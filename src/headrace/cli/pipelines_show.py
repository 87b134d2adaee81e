"""`headrace pipelines list|status|describe`, from the state directory alone."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from headrace.cli.output import print_json, styled, wants_json
from headrace.spark.errors import PipelineError
from headrace.spark.pipelines.checkpoint_files import last_finished
from headrace.spark.pipelines.lock import holder_of
from headrace.spark.pipelines.state_directory import PipelineDirectory, Record, StateDirectory
from headrace.spark.pipelines.subscriptions import describe_subscription
from headrace.spark.pipelines.table import aligned, duration, number, size, table

_LIVE = ("starting", "running", "retrying", "stopping")
_WATCH_SECONDS = 1.0


def list_pipelines(args: argparse.Namespace) -> int:
    state = StateDirectory.find(args.state_dir)
    found = [(name, *_look_at(state.pipeline(name))) for name in state.names()]
    rows = [
        {
            "name": name,
            "state": status.get("state", "new"),
            "group": record.group,
            "generation": record.generation,
            "file": record.file,
            "updatedAt": status.get("updatedAt"),
        }
        for name, record, status in found
    ]
    if wants_json(args):
        print_json({"stateDir": state.path, "pipelines": rows})
    elif not rows:
        print(f"No pipeline has run yet with the state directory {state.path}.")
    else:
        cells = [(r["name"], r["state"], r["group"], str(r["generation"]), r["file"]) for r in rows]
        print("\n".join(aligned(("PIPELINE", "STATE", "GROUP", "GEN", "FILE"), cells, 5)))
        _print_errors([status for _, _, status in found], "damaged")
    return 0


def status(args: argparse.Namespace) -> int:
    state = StateDirectory.find(args.state_dir)
    for name in args.names:
        state.existing(name)
    while True:
        found = [_look_at(state.pipeline(n))[1] for n in args.names or state.names()]
        if wants_json(args):
            print_json({"pipelines": found})
        else:
            _print_status(state, found, clear=args.watch and sys.stdout.isatty())
        if not args.watch:
            return 0
        sys.stdout.flush()
        time.sleep(_WATCH_SECONDS)


def _print_status(state: StateDirectory, found: list[dict[str, Any]], *, clear: bool) -> None:
    if clear:
        print("\x1b[H\x1b[J", end="")
    if not found:
        print(f"No pipeline has run yet with the state directory {state.path}.")
        return
    header, *lines = table(found)
    print(styled(header, "bold"))
    print("\n".join(lines))
    _print_errors(found, "damaged", "failed", "retrying")


def _print_errors(found: list[dict[str, Any]], *states: str) -> None:
    for each in found:
        if each.get("lastError") and each.get("state") in states:
            print(styled(f"{each['name']}: {each['lastError']}", "red"))


def describe(args: argparse.Namespace) -> int:
    directory = StateDirectory.find(args.state_dir).existing(args.name)
    record, seen = _look(directory)
    finished = last_finished(record.checkpoint)
    if wants_json(args):
        batch = None if finished is None else finished.batch_id
        print_json({"pipeline": asdict(record), "status": seen, "checkpointBatch": batch})
        return 0
    print(styled(record.name, "bold"), f"({seen.get('state', 'new')})")
    lines = [
        ("file", record.file),
        *(("reads", _source(source)) for source in record.sources),
        ("writes", record.sink or "-"),
        ("group", f"{record.group} at {record.bootstrap_servers or '-'}"),
        ("trigger", f"every {record.trigger}"),
        ("generation", str(record.generation)),
        ("checkpoint", record.checkpoint),
        ("last batch", "-" if finished is None else str(finished.batch_id)),
        ("state", _state(record, seen)),
        ("lag", number(seen.get("lag"))),
        ("first batch", _first_batch(seen)),
    ]
    if seen.get("lastError"):
        lines.append(("last error", f"{seen['lastError']} ({seen.get('lastErrorAt')})"))
    for label, text in lines:
        print(f"  {label:<12} {text}")
    _print_partitions(seen)
    _print_batches(seen)
    return 0


def _source(source: Mapping[str, Any]) -> str:
    options = source["options"]
    what = describe_subscription(options)
    return f"{what} ({source['format']})" if what else str(source["format"])


def _state(record: Record, seen: Mapping[str, Any]) -> str:
    if record.drop_state:
        return "dropped at the next start"
    if not record.stateful:
        return "none"
    late = f", {number(seen['lateRows'])} late rows dropped" if seen.get("lateRows") else ""
    return f"{number(seen.get('stateRows'))} rows, {size(seen.get('stateBytes'))} in memory{late}"


def _first_batch(seen: Mapping[str, Any]) -> str:
    parts = seen.get("firstBatchMs") or {}
    told = ", ".join(f"{name} {duration(value)}" for name, value in parts.items())
    return f"{duration(sum(parts.values()))} ({told})" if parts else "-"


def _print_partitions(seen: Mapping[str, Any]) -> None:
    lag = seen.get("lagByPartition") or {}
    offsets = seen.get("offsets") or {}
    rows = [
        (topic, partition, number(offset), number(lag.get(topic, {}).get(partition)))
        for topic, partitions in sorted(offsets.items())
        for partition, offset in sorted(partitions.items(), key=lambda row: int(row[0]))
    ]
    if rows:
        print()
        lines = aligned(("TOPIC", "PARTITION", "OFFSET", "LAG"), rows, 1)
        print("\n".join(f"  {line}" for line in lines))


def _print_batches(seen: Mapping[str, Any]) -> None:
    rows = [
        (
            str(batch["batchId"]),
            batch["finishedAt"],
            number(batch["rowsIn"]),
            duration(batch["durationMs"]),
            duration(batch["parts"].get("addBatch")),
        )
        for batch in seen.get("recentBatches") or ()
    ]
    if rows:
        print()
        header = ("BATCH", "FINISHED", "ROWS", "TIME", "OF IT WORK")
        print("\n".join(f"  {line}" for line in aligned(header, rows, 2)))


def _look_at(directory: PipelineDirectory) -> tuple[Record, dict[str, Any]]:
    """As `_look`; one whose files are damaged is shown as such, and hides no others."""
    try:
        return _look(directory)
    except PipelineError as error:
        damaged = {"name": directory.name, "state": "damaged", "lastError": str(error)}
        return Record(directory.name, "-"), damaged


def _look(directory: PipelineDirectory) -> tuple[Record, dict[str, Any]]:
    """The record and the status; a run that died cannot say so itself."""
    record = directory.read_record() or Record(directory.name, directory.name)
    found = directory.read_status() or {"name": directory.name, "state": "new"}
    if found.get("state") in _LIVE and holder_of(directory.lock) is None:
        found["state"] = "died"
    return record, found
