"""`headrace producer-perf-test`: Kafka's `kafka-producer-perf-test.sh`."""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable
from typing import Any

from headrace.cli.connecting import add_bootstrap_server
from headrace.cli.failure import CommandFailedError, UsageError
from headrace.cli.output import add_output_argument, wants_json
from headrace.cli.perf_client import collect_settings, librdkafka_settings, load_library
from headrace.cli.perf_metrics import LibraryMetrics
from headrace.cli.perf_stats import ProducerStats

_DEFAULT_TRANSACTION_MS = 3000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_bootstrap_server(parser)
    add_output_argument(parser)
    add = parser.add_argument
    add("--topic", required=True, help="the topic to produce to")
    add("--num-records", type=int, required=True, metavar="N", help="how many records")
    add("--throughput", type=float, required=True, metavar="N", help="records/s; -1: no limit")
    payload = parser.add_mutually_exclusive_group(required=True)
    payload.add_argument("--record-size", type=int, metavar="BYTES", help="size of each record")
    payload.add_argument("--payload-file", metavar="FILE", help="records, one of them at random")
    payload.add_argument(
        "--payload-monotonic", action="store_true", help="records are rising numbers"
    )
    add("--payload-delimiter", default="\\n", help="what separates records in the file")
    add(
        "--command-property",
        "--producer-props",
        nargs="+",
        action="extend",
        metavar="NAME=VALUE",
        help="producer settings, under Java's names",
    )
    add("--command-config", "--producer.config", metavar="FILE", help="properties file")
    add("--print-metrics", action="store_true", help="print librdkafka's statistics at the end")
    add("--transactional-id", metavar="ID", help="produce in transactions")
    add("--transaction-duration-ms", type=int, metavar="MS", help="length of a transaction")
    add("--warmup-records", type=int, default=0, metavar="N", help="records that do not count")
    add("--reporting-interval", type=int, default=5000, metavar="MS", help="progress lines")


def run(args: argparse.Namespace) -> int:
    _check(args)
    library = load_library()
    payload = make_payload(args)
    settings = collect_settings(args, args.command_property)
    transaction_ms = _transactions(args, settings)
    settings.setdefault("queue.buffering.max.messages", "1000000")
    metrics = LibraryMetrics() if args.print_metrics else None
    extra = {} if metrics is None else metrics.settings()
    try:
        producer = library.Producer({**librdkafka_settings(settings), **extra})
    except library.KafkaException as error:
        raise CommandFailedError(error.args[0].str()) from error
    if args.warmup_records and not wants_json(args):
        print(
            f"Warmup first {args.warmup_records} records. Steady state results will print after"
            " the complete test summary."
        )
    stats = ProducerStats(
        args.num_records, args.warmup_records, args.reporting_interval, as_json=wants_json(args)
    )
    _produce(args, producer, payload, stats, transaction_ms)
    stats.finish()
    if metrics is not None:
        metrics.wait(producer.poll)
        metrics.print(as_json=wants_json(args))
    return 1 if stats.failures else 0


def _check(args: argparse.Namespace) -> None:
    if args.num_records <= 0:
        raise UsageError("--num-records should be greater than zero.")
    if args.record_size is not None and args.record_size <= 0:
        raise UsageError("--record-size should be greater than zero.")
    if args.transaction_duration_ms is not None and args.transaction_duration_ms <= 0:
        raise UsageError("--transaction-duration-ms should be greater than zero.")
    if args.warmup_records >= args.num_records:
        raise UsageError(
            "The value for --warmup-records must be strictly fewer than the number of records in"
            " the test, --num-records."
        )


def make_payload(args: argparse.Namespace) -> Callable[[int], bytes]:
    """What the n-th record is."""
    if args.payload_monotonic:
        return lambda position: str(position).encode()
    if args.payload_file is not None:
        delimiter = args.payload_delimiter.replace("\\n", "\n").encode()
        with open(args.payload_file, "rb") as file:
            rows = [row for row in file.read().split(delimiter) if row]
        if not rows:
            raise CommandFailedError(
                f"File does not exist or empty file provided: {args.payload_file}"
            )
        return lambda _: random.choice(rows)
    letters = random.Random(0)
    fixed = bytes(letters.randrange(65, 91) for _ in range(args.record_size))
    return lambda _: fixed


def _transactions(args: argparse.Namespace, settings: dict[str, str]) -> int | None:
    """The length of a transaction, None when there are none."""
    if args.transactional_id is not None:
        settings["transactional.id"] = args.transactional_id
    elif args.transaction_duration_ms is not None and "transactional.id" not in settings:
        settings["transactional.id"] = f"performance-producer-{random.getrandbits(64):x}"
    if "transactional.id" not in settings:
        return None
    return args.transaction_duration_ms or _DEFAULT_TRANSACTION_MS


def _produce(
    args: argparse.Namespace,
    producer: Any,
    payload: Callable[[int], bytes],
    stats: ProducerStats,
    transaction_ms: int | None,
) -> None:
    produce, poll, topic = producer.produce, producer.poll, args.topic
    started = time.monotonic()
    if transaction_ms is not None:
        producer.init_transactions()
        producer.begin_transaction()
    transaction_started = time.monotonic()
    for position in range(args.num_records):
        value = payload(position)
        while True:
            try:
                produce(topic, value, on_delivery=stats.on_delivery)
                break
            except BufferError:
                poll(0.01)
        poll(0)
        if args.throughput > 0:
            _throttle(started, position + 1, args.throughput, poll)
        if transaction_ms is not None and _has_passed(transaction_started, transaction_ms):
            producer.commit_transaction()
            producer.begin_transaction()
            transaction_started = time.monotonic()
    producer.flush()
    if transaction_ms is not None:
        producer.commit_transaction()


def _has_passed(since: float, duration_ms: int) -> bool:
    return (time.monotonic() - since) * 1000 >= duration_ms


def _throttle(started: float, sent: int, rate: float, poll: Callable[[float], int]) -> None:
    """Wait, taking acknowledgements meanwhile, until `sent` records are due."""
    due = started + sent / rate
    while (ahead := due - time.monotonic()) > 0.001:
        poll(min(ahead, 0.05))
    sys.stdout.flush()
