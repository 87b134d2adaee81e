"""`headrace pipelines reset`: where a stopped pipeline starts next, and whether it keeps its state.

It moves the pipeline's consumer group, as `headrace consumer-groups --reset-offsets` does; the next
start sees that and begins a new generation there.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace

from headrace.cli.connecting import read_command_config
from headrace.cli.consumer_groups_scenarios import new_offsets
from headrace.cli.failure import CommandFailedError, UsageError
from headrace.client.blocking import KafkaClient
from headrace.client.config import ClientConfig
from headrace.client.groups_offsets import CommittedOffset, commit_offsets, committed_offsets
from headrace.client.leaders import TopicPartition
from headrace.spark.offsets import from_json
from headrace.spark.options import kafka_settings
from headrace.spark.pipelines.checkpoint_files import kafka_offsets, last_finished
from headrace.spark.pipelines.context import Running
from headrace.spark.pipelines.lock import RunLock
from headrace.spark.pipelines.state_directory import HIDDEN, Record, StateDirectory


def reset(args: argparse.Namespace) -> int:
    is_moved = _is_moved(args)
    if not args.state and not is_moved and not args.to_checkpoint:
        raise UsageError("say what to reset: --state, --to-earliest, --to-latest, or another --to.")
    if args.state and args.to_checkpoint:
        raise UsageError("--to-checkpoint is for a pipeline that keeps its state: leave --state.")
    directory = StateDirectory.find(args.state_dir).existing(args.name)
    lock = RunLock(directory.lock)
    if not lock.acquire():
        raise CommandFailedError(
            f"Pipeline {args.name} is running: stop it first, with `headrace pipelines stop"
            f" {args.name}`."
        )
    try:
        record = directory.read_record()
        if record is None:
            raise CommandFailedError(f"Pipeline {args.name} has not run yet.")
        if is_moved and record.stateful and not args.state:
            raise CommandFailedError(
                f"Pipeline {args.name} keeps state that belongs to where it stands: add --state to"
                " drop it, then it can start elsewhere."
            )
        if is_moved or args.to_checkpoint:
            _print(record.group, _move(args, record))
        if args.state:
            directory.write_record(replace(record, drop_state=True))
            print(f"{args.name} starts without its state next time, where its group stands.")
    finally:
        lock.release()
    return 0


def _is_moved(args: argparse.Namespace) -> bool:
    chosen = (args.to_offset, args.shift_by, args.to_datetime, args.by_duration)
    return args.to_earliest or args.to_latest or any(value is not None for value in chosen)


def _move(args: argparse.Namespace, record: Record) -> dict[TopicPartition, int]:
    """Commit new offsets to the group, at each cluster that the pipeline reads."""
    finished = last_finished(record.checkpoint)
    position = from_json(record.committed if finished is None else kafka_offsets(finished.sources))
    moved: dict[TopicPartition, int] = {}
    for settings in clusters(record, read_command_config(args.command_config)):
        with KafkaClient(ClientConfig.from_settings(settings)) as client:
            committed = committed_offsets(client, record.group)
            partitions = sorted(set(committed) | set(position))
            if not partitions:
                raise CommandFailedError(
                    f"Pipeline {args.name} has read nothing yet, so there is nothing to move:"
                    f" `headrace consumer-groups --reset-offsets --group {record.group} --topic"
                    " TOPIC` says where it begins."
                )
            if args.to_checkpoint:
                running = Running(record.name, record.group, record.checkpoint, record.generation)
                metadata = running.commit_metadata(record.batch or 0)
                rows = {tp: CommittedOffset(at, metadata=metadata) for tp, at in position.items()}
            else:
                known = committed | {
                    tp: CommittedOffset(at) for tp, at in position.items() if tp not in committed
                }
                args.from_file = None
                found = new_offsets(client, record.group, partitions, known, args)
                rows = {tp: CommittedOffset(at) for tp, at in found.items()}
            commit_offsets(client, record.group, rows)
            moved |= {tp: row.offset for tp, row in rows.items()}
    return moved


def clusters(record: Record, given: Mapping[str, str]) -> list[dict[str, str]]:
    """The settings of each cluster that the pipeline reads; `given` has what is not recorded."""
    found = {}
    for source in record.sources:
        settings = kafka_settings(source["options"])
        servers = settings.get("bootstrap.servers")
        if not servers:
            continue
        settings |= {name: value for name, value in given.items() if name != "bootstrap.servers"}
        hidden = sorted(name for name, value in settings.items() if value == HIDDEN)
        if hidden:
            raise CommandFailedError(
                f"{servers} asks for {', '.join(hidden)}, which the record of pipeline"
                f" {record.name} does not keep: put it into a properties file, and name that with"
                " --command-config."
            )
        found[servers] = settings
    return list(found.values())


def _print(group: str, moved: dict[TopicPartition, int]) -> None:
    print(f"The group {group} stands at:")
    for (topic, partition), offset in sorted(moved.items()):
        print(f"  {topic}-{partition}  {offset}")
