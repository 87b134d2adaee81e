"""`headrace consumer-perf-test`: Kafka's `kafka-consumer-perf-test.sh`."""

from __future__ import annotations

import argparse
import random
import re
import sys
import time
from dataclasses import dataclass
from typing import Any, TypeAlias

from headrace.cli.connecting import add_bootstrap_server
from headrace.cli.failure import CommandFailedError, UsageError
from headrace.cli.output import add_output_argument, print_json_line, wants_json
from headrace.cli.perf_client import collect_settings, librdkafka_settings, load_library
from headrace.cli.perf_metrics import LibraryMetrics

_MB = 1024.0 * 1024.0
_COLUMNS = (
    *("data.consumed.in.MB", "MB.sec", "data.consumed.in.nMsg", "nMsg.sec"),
    *("rebalance.time.ms", "fetch.time.ms", "fetch.MB.sec", "fetch.nMsg.sec"),
)
_SUMMARY = ("start.time", "end.time", *_COLUMNS)
_INTERVAL = ("time", "threadId", *_COLUMNS)
Row: TypeAlias = list[str | int | float]
_BATCH = 10_000
#: Java's letters of a date, as far as they are needed, with their width.
_DATE_LETTERS = {"yyyy": "%Y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_bootstrap_server(parser)
    add_output_argument(parser)
    add = parser.add_argument
    topics = parser.add_mutually_exclusive_group(required=True)
    topics.add_argument("--topic", help="the topic to consume")
    topics.add_argument("--include", metavar="REGEX", help="all topics whose names match")
    add("--num-records", "--messages", type=int, required=True, metavar="N", help="how many")
    add("--group", help="the group id (default: a random one)")
    add("--fetch-size", type=int, default=1048576, metavar="BYTES", help="per partition and fetch")
    add("--from-latest", action="store_true", help="begin at the end")
    add("--socket-buffer-size", type=int, default=2097152, metavar="BYTES", help="TCP buffer")
    add(
        "--command-property",
        action="append",
        metavar="NAME=VALUE",
        help="a consumer setting, under Java's name",
    )
    add("--command-config", "--consumer.config", metavar="FILE", help="properties file")
    add("--print-metrics", action="store_true", help="print librdkafka's statistics at the end")
    add("--show-detailed-stats", action="store_true", help="a line per reporting interval")
    add("--timeout", type=int, nargs="?", const=10_000, default=10_000, metavar="MS", help="idle")
    add("--reporting-interval", type=int, default=5000, metavar="MS", help="of detailed stats")
    add("--date-format", default="yyyy-MM-dd HH:mm:ss:SSS", help="as Java writes formats")
    add("--hide-header", action="store_true", help="leave the first line out")


@dataclass(slots=True)
class Progress:
    """What was read, and how much of the time went into joining the group."""

    started_ms: int
    messages: int = 0
    bytes: int = 0
    rebalance_ms: int = 0


def run(args: argparse.Namespace) -> int:
    library = load_library()
    settings = collect_settings(args, args.command_property)
    settings |= {
        "group.id": args.group or f"perf-consumer-{random.randrange(100_000)}",
        "auto.offset.reset": "latest" if args.from_latest else "earliest",
        "max.partition.fetch.bytes": str(args.fetch_size),
        "receive.buffer.bytes": str(args.socket_buffer_size),
    }
    metrics = LibraryMetrics() if args.print_metrics else None
    extra = {} if metrics is None else metrics.settings()
    try:
        consumer = library.Consumer({**librdkafka_settings(settings), **extra})
    except library.KafkaException as error:
        raise CommandFailedError(error.args[0].str()) from error
    if not args.hide_header and not wants_json(args):
        print(", ".join(_INTERVAL if args.show_detailed_stats else _SUMMARY), flush=True)
    progress = Progress(_now_ms())
    try:
        _subscribe(library, consumer, args, progress)
        _consume(library, consumer, args, progress)
        end_ms = _now_ms()
        if metrics is not None:
            metrics.wait(consumer.poll)
    finally:
        consumer.close()
    if progress.messages < args.num_records:
        print(
            "WARNING: Exiting before consuming the expected number of records:"
            f" timeout ({args.timeout} ms) exceeded. You can use the --timeout option to increase"
            " the timeout.",
            file=sys.stderr if wants_json(args) else sys.stdout,
        )
    if not args.show_detailed_stats:
        _print_row(args, _SUMMARY, summary_row(progress, end_ms, args.date_format))
    if metrics is not None:
        metrics.print(as_json=wants_json(args))
    return 0


def _print_row(args: argparse.Namespace, columns: tuple[str, ...], row: Row) -> None:
    if wants_json(args):
        kind = "summary" if columns is _SUMMARY else "interval"
        print_json_line({"kind": kind, **dict(zip(columns, row, strict=True))}, flush=True)
    else:
        cells = [f"{cell:.4f}" if isinstance(cell, float) else str(cell) for cell in row]
        print(", ".join(cells), flush=True)


def _subscribe(library: Any, consumer: Any, args: argparse.Namespace, progress: Progress) -> None:
    """Join a group; where the cluster has no groups, take all partitions of the topic."""
    from headrace.cli.connecting import open_client
    from headrace.client.leaders import find_leaders
    from headrace.protocol.messages.join_group import JoinGroupRequest

    with open_client(args, "headrace-perf") as client:
        if client.any_node().versions.highest(JoinGroupRequest) is None:
            if args.topic is None:
                raise UsageError("This cluster has no consumer groups yet: give --topic.")
            partitions = find_leaders(client, [args.topic])
            start = library.OFFSET_END if args.from_latest else library.OFFSET_BEGINNING
            consumer.assign([library.TopicPartition(*tp, start) for tp in partitions])
            return
    joining_since_ms = [_now_ms()]

    def on_assign(_consumer: Any, _partitions: Any) -> None:
        progress.rebalance_ms += _now_ms() - joining_since_ms[0]

    def on_revoke(_consumer: Any, _partitions: Any) -> None:
        joining_since_ms[0] = _now_ms()

    topics = [args.topic] if args.topic is not None else [f"^{args.include}"]
    consumer.subscribe(topics, on_assign=on_assign, on_revoke=on_revoke)


def _consume(library: Any, consumer: Any, args: argparse.Namespace, progress: Progress) -> None:
    last = Progress(progress.started_ms)
    consumed_ms = _now_ms()
    while progress.messages < args.num_records and _now_ms() - consumed_ms <= args.timeout:
        wanted = min(_BATCH, args.num_records - progress.messages)
        for message in consumer.consume(wanted, timeout=0.1):
            error = message.error()
            if error is not None:
                if error.code() == library.KafkaError._PARTITION_EOF or error.retriable():
                    continue
                raise CommandFailedError(error.str())
            consumed_ms = _now_ms()
            progress.messages += 1
            progress.bytes += len(message.key() or b"") + len(message.value() or b"")
        now_ms = _now_ms()
        if now_ms - last.started_ms >= args.reporting_interval:
            if args.show_detailed_stats:
                row = interval_row(last, progress, now_ms, args.date_format)
                _print_row(args, _INTERVAL, row)
            last = Progress(now_ms, progress.messages, progress.bytes, progress.rebalance_ms)


def summary_row(progress: Progress, end_ms: int, date_format: str) -> Row:
    elapsed_ms = max(end_ms - progress.started_ms, 1)
    fetch_ms = max(elapsed_ms - progress.rebalance_ms, 1)
    mb = progress.bytes / _MB
    return [
        *(format_date(progress.started_ms, date_format), format_date(end_ms, date_format)),
        *(mb, 1000 * mb / elapsed_ms, progress.messages, 1000 * progress.messages / elapsed_ms),
        *(progress.rebalance_ms, fetch_ms),
        *(1000 * mb / fetch_ms, 1000 * progress.messages / fetch_ms),
    ]


def interval_row(last: Progress, now: Progress, now_ms: int, date_format: str) -> Row:
    elapsed_ms = max(now_ms - last.started_ms, 1)
    rebalance_ms = now.rebalance_ms - last.rebalance_ms
    fetch_ms = elapsed_ms - rebalance_ms
    mb, count = (now.bytes - last.bytes) / _MB, now.messages - last.messages
    fetch_mb = 1000 * mb / fetch_ms if fetch_ms > 0 else 0.0
    fetch_count = 1000 * count / fetch_ms if fetch_ms > 0 else 0.0
    return [
        *(format_date(now_ms, date_format), 0, now.bytes / _MB, 1000 * mb / elapsed_ms),
        *(now.messages, 1000 * count / elapsed_ms, rebalance_ms, fetch_ms),
        *(fetch_mb, fetch_count),
    ]


def format_date(time_ms: int, pattern: str) -> str:
    """A time of day here, by the common letters of Java's date formats."""
    moment = time.localtime(time_ms / 1000)

    def replace(match: re.Match[str]) -> str:
        letters = match[0]
        if letters == "SSS":
            return f"{time_ms % 1000:03d}"
        return time.strftime(_DATE_LETTERS[letters], moment)

    return re.sub("yyyy|MM|dd|HH|mm|ss|SSS", replace, pattern)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
