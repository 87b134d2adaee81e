"""`headrace log-dirs`: Kafka's `kafka-log-dirs.sh`."""

from __future__ import annotations

import argparse
import json
import sys

from headrace.base.errors import ErrorCode
from headrace.cli.connecting import add_connection_arguments, open_client
from headrace.cli.failure import CommandFailedError, UsageError
from headrace.cli.java_order import hash_order, partition_order
from headrace.client.blocking import KafkaClient
from headrace.client.errors import raise_for_code
from headrace.protocol.messages.describe_log_dirs import (
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
)

#: Kafka prints the Java class of the one error that a directory can have.
_OFFLINE = "org.apache.kafka.common.errors.KafkaStorageException"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_connection_arguments(parser)
    add = parser.add_argument
    add("--describe", action="store_true", help="describe the data directories (needed)")
    add("--broker-list", default="", metavar="IDS", help="brokers, with commas (default: all)")
    add("--topic-list", default="", metavar="NAMES", help="topics, with commas (default: all)")
    add("-o", "--output", choices=("text", "json"), default="text", help="json: the JSON line only")


def run(args: argparse.Namespace) -> int:
    if not args.describe:
        raise UsageError('Missing required argument "[describe]"')
    wanted = _parse_brokers(args.broker_list)
    topics = {name for name in args.topic_list.split(",") if name}
    with open_client(args, "log-dirs-tool") as client:
        existing = sorted(client.refresh().nodes)
        missing = [broker for broker in wanted if broker not in existing]
        if missing:
            raise CommandFailedError(
                "ERROR: The given brokers do not exist from --broker-list:"
                f" {_ids(missing)}. Current existent brokers: {_ids(existing)}"
            )
        brokers = wanted or existing
        if args.output == "text":
            print("Querying brokers for log directories information", flush=True)
        described = [
            {"broker": broker, "logDirs": _describe(client, broker, topics)} for broker in brokers
        ]
    if args.output == "text":
        print(f"Received log directory information from brokers {_ids(brokers)}")
    _print({"brokers": described, "version": 1})
    return 0


def _print(document: dict[str, object]) -> None:
    """The line that Kafka prints; on a terminal, for people, with breaks in it."""
    if sys.stdout.isatty():
        print(json.dumps(document, indent=2))
    else:
        print(json.dumps(document, separators=(",", ":")))


def _parse_brokers(text: str) -> list[int]:
    try:
        return sorted({int(part) for part in text.split(",") if part})
    except ValueError:
        raise UsageError(f"--broker-list is a list of numbers, not {text}") from None


def _ids(brokers: list[int]) -> str:
    return ",".join(map(str, brokers))


def _describe(client: KafkaClient, broker: int, topics: set[str]) -> list[dict[str, object]]:
    def attempt() -> DescribeLogDirsResponse:
        answer = client.node(broker).call(
            DescribeLogDirsRequest(topics=None), DescribeLogDirsResponse
        )
        raise_for_code(answer.error_code)
        return answer

    results = client.retry(attempt).results
    by_path = {result.log_dir: result for result in results}
    return [
        _directory(by_path[path], topics) for path in hash_order(by_path, capacity=len(results))
    ]


def _directory(result: DescribeLogDirsResult, topics: set[str]) -> dict[str, object]:
    partitions = {
        (topic.name, row.partition_index): row
        for topic in result.topics
        if not topics or topic.name in topics
        for row in topic.partitions
    }
    return {
        "partitions": [
            {
                "partition": f"{name}-{index}",
                "size": partitions[name, index].partition_size,
                "offsetLag": partitions[name, index].offset_lag,
                "isFuture": partitions[name, index].is_future_key,
            }
            for name, index in partition_order(partitions)
        ],
        "error": None if result.error_code == ErrorCode.NONE else _OFFLINE,
        "logDir": result.log_dir,
    }
