"""`headrace e2e-latency`: Kafka's `kafka-e2e-latency.sh`."""

from __future__ import annotations

import argparse
import random
import time
from typing import Any

from headrace.cli.connecting import add_bootstrap_server, open_client
from headrace.cli.e2e_positions import BY_POSITION, say, take_positions
from headrace.cli.failure import CommandFailedError, UsageError
from headrace.cli.output import add_output_argument, print_json_line, wants_json
from headrace.cli.perf_client import (
    collect_settings,
    librdkafka_settings,
    load_library,
    percentile,
)
from headrace.client.blocking import KafkaClient
from headrace.client.leaders import TopicPartition, find_leaders

_POLL_SECONDS = 60.0
_SHARES = {"50th": 0.5, "99th": 0.99, "99.9th": 0.999}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_bootstrap_server(parser)
    add_output_argument(parser)
    add = parser.add_argument
    add("--topic", help="the topic to use; made with one partition if need be (needed)")
    add("--num-records", type=int, metavar="N", help="how many records (needed)")
    add("--producer-acks", choices=("1", "all"), help="acknowledgements (needed)")
    add("--record-size", type=int, metavar="BYTES", help="size of a value (needed)")
    add("--record-key-size", type=int, default=0, metavar="BYTES", help="size of a key")
    add("--num-headers", type=int, default=0, metavar="N", help="headers of a record")
    add("--record-header-key-size", type=int, default=0, metavar="BYTES", help="of a header's name")
    add("--record-header-size", type=int, default=0, metavar="BYTES", help="of its value; -1: null")
    add("--command-config", metavar="FILE", help="properties file")
    add(
        "by_position",
        nargs="*",
        metavar="VALUE",
        help=f"deprecated: the values of {', '.join(BY_POSITION)} without their names",
    )


def run(args: argparse.Namespace) -> int:
    take_positions(args)
    if args.num_records <= 0:
        raise UsageError("Value for --num-records must be a positive integer.")
    for name in ("record_size", "record_key_size", "num_headers", "record_header_key_size"):
        if getattr(args, name) < 0:
            raise UsageError(f"Value for --{name.replace('_', '-')} must not be negative.")
    library = load_library()
    settings = collect_settings(args, None)
    with open_client(args, "headrace-e2e-latency") as client:
        partitions = _ensure_topic(client, args)
    producer = library.Producer(
        librdkafka_settings({**settings, "linger.ms": "0", "acks": args.producer_acks})
    )
    consumer = library.Consumer(
        librdkafka_settings(
            {
                **settings,
                "group.id": f"test-group-{time.time_ns() // 1_000_000}",
                "enable.auto.commit": "false",
                "auto.offset.reset": "latest",
                "fetch.max.wait.ms": "0",
            }
        )
    )
    try:
        _assign(library, consumer, partitions)
        latencies_ms = [_round_trip(producer, consumer, args, n) for n in range(args.num_records)]
    finally:
        consumer.close()
    _print_results(args, sorted(latencies_ms))
    return 0


def _print_results(args: argparse.Namespace, ordered_ms: list[float]) -> None:
    average_ms = sum(ordered_ms) / len(ordered_ms)
    shares = {name: percentile(ordered_ms, share) for name, share in _SHARES.items()}
    if wants_json(args):
        total = {"records": len(ordered_ms), "avgLatencyMs": average_ms}
        print_json_line({"kind": "total", **total, "latencyPercentilesMs": shares})
        return
    print(f"Avg latency: {average_ms:.4f} ms")
    print(f"Percentiles: {', '.join(f'{name} = {value}' for name, value in shares.items())}")


def _ensure_topic(client: KafkaClient, args: argparse.Namespace) -> list[TopicPartition]:
    """The topic's partitions; one is created if the topic is not there."""
    from headrace.client.errors import raise_for_code
    from headrace.protocol.messages.create_topics import (
        CreatableTopic,
        CreateTopicsRequest,
        CreateTopicsResponse,
    )

    topic = args.topic
    partitions = find_leaders(client, [topic])
    if partitions:
        return list(partitions)
    say(
        args,
        f'Topic "{topic}" does not exist. Will create topic with 1 partition(s) and'
        " replication factor = 1",
    )

    def check(response: CreateTopicsResponse) -> None:
        for row in response.topics:
            raise_for_code(row.error_code, row.error_message)

    new = CreatableTopic(name=topic, num_partitions=1, replication_factor=1)
    client.admin(CreateTopicsRequest(topics=[new]), CreateTopicsResponse, check=check)
    return [(topic, 0)]


def _assign(library: Any, consumer: Any, partitions: list[TopicPartition]) -> None:
    """Stand at the end of every partition before the first record is sent."""
    assignment = []
    for topic, index in partitions:
        partition = library.TopicPartition(topic, index)
        _, end = consumer.get_watermark_offsets(partition, timeout=_POLL_SECONDS)
        assignment.append(library.TopicPartition(topic, index, end))
    consumer.assign(assignment)
    consumer.poll(0)


def _round_trip(producer: Any, consumer: Any, args: argparse.Namespace, number: int) -> float:
    value = _letters(args.record_size)
    key = _letters(args.record_key_size) if args.record_key_size else None
    headers = [
        (
            _letters(args.record_header_key_size).decode(),
            None if args.record_header_size < 0 else _letters(args.record_header_size),
        )
        for _ in range(args.num_headers)
    ]
    failures: list[str] = []

    def on_delivery(error: Any, _message: Any) -> None:
        if error is not None:
            failures.append(error.str())

    begin = time.perf_counter_ns()
    producer.produce(args.topic, value, key, headers=headers, on_delivery=on_delivery)
    producer.flush()
    if failures:
        raise CommandFailedError(f"A record could not be sent: {failures[0]}")
    message = consumer.poll(_POLL_SECONDS)
    elapsed_ms = (time.perf_counter_ns() - begin) / 1_000_000
    if message is None:
        raise CommandFailedError("poll() timed out before finding a result (timeout:[60000ms])")
    if message.error() is not None:
        raise CommandFailedError(message.error().str())
    if message.value() != value:
        raise CommandFailedError("The message value read did not match the message value sent")
    if number % 1000 == 0:
        _print_progress(args, number, elapsed_ms)
    return elapsed_ms


def _print_progress(args: argparse.Namespace, number: int, elapsed_ms: float) -> None:
    if wants_json(args):
        print_json_line({"kind": "progress", "record": number, "latencyMs": elapsed_ms}, flush=True)
    else:
        print(f"{number}\t{elapsed_ms}", flush=True)


def _letters(length: int) -> bytes:
    return bytes((random.randrange(65, 91),)) * length
