"""Where `--reset-offsets` moves a group to: one function for each scenario of Kafka's tool."""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from headrace.cli.consumer_groups import print_error, tell
from headrace.cli.durations import parse_duration
from headrace.cli.failure import CommandFailedError, UsageError
from headrace.cli.java_order import partition_order
from headrace.client.blocking import KafkaClient
from headrace.client.groups_offsets import CommittedOffset
from headrace.client.leaders import TopicPartition
from headrace.client.offsets import (
    EARLIEST,
    LATEST,
    UNKNOWN_OFFSET,
    list_offsets,
    require_offsets,
)


def new_offsets(
    client: KafkaClient,
    group: str,
    partitions: Sequence[TopicPartition],
    committed: Mapping[TopicPartition, CommittedOffset],
    args: argparse.Namespace,
) -> dict[TopicPartition, int]:
    """The new offset of each partition."""
    if args.to_offset is not None:
        return _in_range(client, dict.fromkeys(partitions, args.to_offset))
    if args.to_earliest:
        return _at(client, partitions, EARLIEST)
    if args.to_latest:
        return _at(client, partitions, LATEST)
    if args.shift_by is not None:
        return _in_range(client, _shifted(partitions, committed, args.shift_by))
    if args.to_datetime is not None:
        return _at_time(client, partitions, parse_datetime(args.to_datetime), args)
    if args.by_duration is not None:
        then_ms = time.time_ns() // 1_000_000 - parse_duration(args.by_duration)
        return _at_time(client, partitions, then_ms, args)
    if args.from_file is not None:
        single = args.group[0] if args.group and len(args.group) == 1 else None
        plan = read_plan(args.from_file, single)
        if group not in plan:
            print_error(f"No reset plan for group {group} found", args)
        return _in_range(client, plan.get(group, {}))
    current = {tp: committed[tp].offset for tp in partitions if tp in committed}
    return current | _at(client, [tp for tp in partitions if tp not in committed], LATEST)


def _at(
    client: KafkaClient, partitions: Sequence[TopicPartition], timestamp: int
) -> dict[TopicPartition, int]:
    return require_offsets(list_offsets(client, dict.fromkeys(partitions, timestamp)))


def _shifted(
    partitions: Sequence[TopicPartition],
    committed: Mapping[TopicPartition, CommittedOffset],
    shift_by: int,
) -> dict[TopicPartition, int]:
    for topic, index in partitions:
        if (topic, index) not in committed:
            raise UsageError(
                f"Cannot shift offset for partition {topic}-{index}"
                " since there is no current committed offset"
            )
    return {partition: committed[partition].offset + shift_by for partition in partitions}


def _at_time(
    client: KafkaClient,
    partitions: Sequence[TopicPartition],
    timestamp: int,
    args: argparse.Namespace,
) -> dict[TopicPartition, int]:
    found = _at(client, partitions, timestamp)
    after_all = [partition for partition, offset in found.items() if offset == UNKNOWN_OFFSET]
    for topic, index in partition_order(after_all):
        tell(
            f"Warn: Partition {index} from topic {topic} is empty."
            " Falling back to latest known offset.",
            "yellow",
            args,
        )
    return found | _at(client, after_all, LATEST)


def _in_range(
    client: KafkaClient, wanted: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    """Offsets that the partitions do not hold become the nearest that they do."""
    first = _at(client, list(wanted), EARLIEST)
    end = _at(client, list(wanted), LATEST)
    offsets = {}
    for (topic, index), offset in wanted.items():
        low, high = first[topic, index], end[topic, index]
        offsets[topic, index] = min(max(offset, low), high)
        if offset > high:
            _warn(offset, "higher than latest", f"{topic}-{index}", high)
        elif offset < low:
            _warn(offset, "lower than earliest", f"{topic}-{index}", low)
    return offsets


def _warn(offset: int, how: str, partition: str, instead: int) -> None:
    print(
        f"New offset ({offset}) is {how} offset for topic partition {partition}."
        f" Value will be set to {instead}.",
        file=sys.stderr,
    )


# -------------------------------------------------------------------- what users write


def parse_datetime(text: str) -> int:
    """`YYYY-MM-DDTHH:mm:SS.sss`, in UTC unless it names an offset; milliseconds since 1970."""
    if "T" not in text:
        raise CommandFailedError(
            "Error parsing timestamp. It does not contain a 'T' according to ISO8601 format"
        )
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise CommandFailedError(f'Unparseable date: "{text}"') from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return int(moment.timestamp() * 1000)


def read_plan(path: str, group: str | None) -> dict[str, dict[TopicPartition, int]]:
    """A CSV file of `--export`; without a column for it, the offsets are those of `group`."""
    plan: dict[str, dict[TopicPartition, int]] = {}
    with open(path, encoding="utf-8", newline="") as file:
        for number, row in enumerate(csv.reader(file), 1):
            if not row:
                continue
            whose = [group] if group is not None and len(row) == 3 else row[:-3]
            try:
                (name,) = whose
                topic, index, offset = row[-3], int(row[-2]), int(row[-1])
            except ValueError:
                raise CommandFailedError(
                    f"{path}, line {number}: expected {'' if group else 'group,'}"
                    "topic,partition,offset"
                ) from None
            plan.setdefault(name, {})[topic, index] = offset
    return plan
