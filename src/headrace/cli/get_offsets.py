"""`headrace get-offsets`: Kafka's `kafka-get-offsets.sh`."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from typing import TypeAlias

from headrace.base.errors import KafkaError
from headrace.cli.connecting import add_connection_arguments, open_client
from headrace.cli.failure import CommandFailedError, describe
from headrace.cli.output import add_output_argument, print_json, styled, wants_json
from headrace.cli.topic_filter import TopicFilter
from headrace.client import offsets
from headrace.client.blocking import KafkaClient
from headrace.client.leaders import TopicPartition
from headrace.client.metadata import ask_topics

PartitionFilter: TypeAlias = Callable[[str, int], bool]

_TIMES = {
    "latest": offsets.LATEST,
    "earliest": offsets.EARLIEST,
    "max-timestamp": offsets.MAX_TIMESTAMP,
    "earliest-local": offsets.EARLIEST_LOCAL,
    "latest-tiered": offsets.LATEST_TIERED,
    "earliest-pending-upload": offsets.EARLIEST_PENDING_UPLOAD,
}
_TIMES_TEXT = " / ".join(f"{value} or {name}" for name, value in _TIMES.items())
_RULE = re.compile("([^:,]*)(?::(?:([0-9]*)|(?:([0-9]*)-([0-9]*))))?")
_EVERY_PARTITION = 2**31 - 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_connection_arguments(parser)
    add_output_argument(parser)
    add = parser.add_argument
    add(
        "--topic-partitions",
        metavar="PATTERNS",
        help="topics with their partitions, for instance topic1:1,topic2:0-3,topic3,topic4:5-,"
        "topic5:-3; the upper end of a range does not belong to it; names may be expressions",
    )
    add("--topic", help="the topic, or a regular expression (default: all)")
    add("--partitions", metavar="IDS", help="partitions with commas between them (default: all)")
    add("--time", default="latest", help=f"a time in ms, or {_TIMES_TEXT} (default: latest)")
    add("--exclude-internal-topics", action="store_true", help="leave out Kafka's own topics")


def run(args: argparse.Namespace) -> int:
    try:
        return _run(args)
    except KafkaError as error:
        raise CommandFailedError(f"Error occurred: {describe(error)}") from error


def _run(args: argparse.Namespace) -> int:
    timestamp = parse_time(args.time)
    wanted = parse_filter(args.topic_partitions, args.topic, args.partitions)
    with open_client(args, "GetOffsetShell") as client:
        partitions = _matching(client, wanted, exclude_internal=args.exclude_internal_topics)
        if not partitions:
            raise _failed("Could not match any topic-partitions with the specified filters")
        found = offsets.list_offsets(client, dict.fromkeys(partitions, timestamp))
    rows = []
    # Kafka sorts by the text `topic-partition`, so partition 10 comes before 2.
    for topic, index in sorted(found, key=lambda row: f"{row[0]}-{row[1]}"):
        offset = found[topic, index]
        if isinstance(offset, KafkaError):
            print(
                f"Skip getting offsets for topic-partition {topic}-{index}"
                f" due to error: {describe(offset)}",
                file=sys.stderr,
            )
        elif offset != offsets.UNKNOWN_OFFSET:
            rows.append((topic, index, offset))
    _print(args, rows)
    return 0


def _print(args: argparse.Namespace, rows: list[tuple[str, int, int]]) -> None:
    if wants_json(args):
        keys = ("topic", "partition", "offset")
        print_json({"offsets": [dict(zip(keys, row, strict=True)) for row in rows]})
        return
    for topic, index, offset in rows:
        print(f"{styled(topic, 'bold')}:{index}:{offset}")


def parse_time(text: str) -> int:
    """A special name, or milliseconds since 1970 (the special numbers are negative)."""
    if text in _TIMES:
        return _TIMES[text]
    try:
        return int(text)
    except ValueError:
        raise _failed(
            f"Malformed time argument {text}. Please use {_TIMES_TEXT},"
            " or a specified long format timestamp"
        ) from None


def parse_filter(
    patterns: str | None, topic: str | None, partitions: str | None
) -> PartitionFilter:
    """Which partitions are wanted; partition -1 stands for any of the topic."""
    if patterns is not None:
        if topic is not None or partitions is not None:
            raise _failed("--topic-partitions cannot be used with --topic or --partitions")
        rules = [_parse_rule(rule) for rule in patterns.split(",") if rule]
        return lambda name, index: any(rule(name, index) for rule in rules)
    matches = TopicFilter(topic if topic is not None else ".*")
    indexes = _parse_partitions(partitions)
    return lambda name, index: matches.allows(name) and (not indexes or index in indexes)


def _parse_partitions(text: str | None) -> set[int]:
    try:
        return {int(part) for part in text.split(",")} if text else set()
    except ValueError:
        raise _failed(
            "--partitions expects a comma separated list of numeric partition ids,"
            f" but received: {text}"
        ) from None


def _parse_rule(rule: str) -> PartitionFilter:
    match = _RULE.fullmatch(rule)
    if match is None:
        raise _failed(f"Invalid rule specification: {rule}")
    name, single, low, high = match.groups()
    matches = TopicFilter(name or ".*")
    if single:
        return lambda topic, index: matches.allows(topic) and index == int(single)
    first, end = int(low or 0), int(high) if high else _EVERY_PARTITION
    return lambda topic, index: matches.allows(topic) and first <= index < end


def _matching(
    client: KafkaClient, wanted: PartitionFilter, *, exclude_internal: bool
) -> list[TopicPartition]:
    answer = client.retry(lambda: ask_topics(client.any_node(), None))
    return [
        (topic.name, partition.partition_index)
        for topic in answer.topics
        if topic.name is not None and not (exclude_internal and topic.is_internal)
        for partition in topic.partitions
        if wanted(topic.name, partition.partition_index)
    ]


def _failed(text: str) -> CommandFailedError:
    return CommandFailedError(f"Error occurred: {text}")
