"""`headrace transactions`: Kafka's `kafka-transactions.sh`."""

from __future__ import annotations

import argparse
import time

from headrace.base.errors import KafkaError
from headrace.cli.connecting import add_connection_arguments, open_client
from headrace.cli.consumer_groups_errors import sentence
from headrace.cli.failure import CommandFailedError
from headrace.cli.java_order import partition_order
from headrace.cli.output import add_output_argument
from headrace.cli.transactions_requests import (
    describe_producers,
    describe_transactions,
    end_transaction_of,
    list_transactions,
    require_partition,
)
from headrace.cli.transactions_table import Cell, print_table
from headrace.client.blocking import KafkaClient

_LIST = ("TransactionalId", "Coordinator", "ProducerId", "TransactionState")
_DESCRIBE = (
    "CoordinatorId",
    "TransactionalId",
    "ProducerId",
    "ProducerEpoch",
    "TransactionState",
    "TransactionTimeoutMs",
    "CurrentTransactionStartTimeMs",
    "TransactionDurationMs",
    "TopicPartitions",
)
_PRODUCERS = (
    "ProducerId",
    "ProducerEpoch",
    "LatestCoordinatorEpoch",
    "LastSequence",
    "LastTimestamp",
    "CurrentTransactionStartOffset",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_connection_arguments(parser)
    add_output_argument(parser)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    listing = commands.add_parser("list", help="list transactional ids")
    listing.add_argument("--duration-filter", type=int, metavar="MS", help="only those open longer")
    listing.add_argument("--transactional-id-pattern", metavar="REGEX", help="only ids that match")
    show = commands.add_parser("describe", help="the state of a transactional id")
    show.add_argument("--transactional-id", required=True, help="the transactional id")
    producers = commands.add_parser("describe-producers", help="who writes to a partition")
    producers.add_argument("--broker-id", type=int, help="ask this replica (default: the leader)")
    _add_partition(producers)
    abort = commands.add_parser("abort", help="abort a hanging transaction in a partition")
    _add_partition(abort)
    abort.add_argument("--start-offset", type=int, help="the first offset of the transaction")
    abort.add_argument("--producer-id", type=int, help="its producer, where no offset is known")
    abort.add_argument("--producer-epoch", type=int, help="the epoch of its producer")
    abort.add_argument("--coordinator-epoch", type=int, help="the epoch of its coordinator")
    hanging = commands.add_parser("find-hanging", help="find transactions that nobody will end")
    hanging.add_argument("--broker-id", type=int, help="search the partitions of this broker")
    hanging.add_argument(
        "--max-transaction-timeout",
        type=int,
        default=15,
        metavar="MINUTES",
        help="leave out transactions younger than that (default: 15)",
    )
    hanging.add_argument("--topic", help="search this topic")
    hanging.add_argument("--partition", type=int, help="search this partition of it")
    force = commands.add_parser(
        "forceTerminateTransaction", help="end whatever a transactional id has open"
    )
    # Kafka writes this one flag in another way than all others.
    force.add_argument(
        "--transactionalId",
        "--transactional-id",
        dest="transactional_id",
        required=True,
        help="the transactional id",
    )
    for command in (listing, show, producers, hanging):
        add_output_argument(command, default=argparse.SUPPRESS)


def _add_partition(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--topic", required=True, help="the topic")
    parser.add_argument("--partition", type=int, required=True, help="the partition")


def run(args: argparse.Namespace) -> int:
    with open_client(args, "headrace-transactions") as client:
        if args.command == "list":
            _list(client, args)
        elif args.command == "describe":
            _describe(client, args)
        elif args.command == "describe-producers":
            _describe_producers(client, args)
        elif args.command == "find-hanging":
            from headrace.cli.transactions_hanging import find_hanging

            find_hanging(client, args)
        elif args.command == "abort":
            from headrace.cli.transactions_hanging import abort

            abort(client, args)
        else:
            _force(client, args)
    return 0


def failed(what: str, error: KafkaError) -> CommandFailedError:
    """Kafka's sentence, but for its hint at a log that this tool does not have."""
    return CommandFailedError(f"{what}: {sentence(error)}")


def _list(client: KafkaClient, args: argparse.Namespace) -> None:
    try:
        found = list_transactions(
            client, duration_ms=args.duration_filter, pattern=args.transactional_id_pattern
        )
    except KafkaError as error:
        raise failed("Failed to list transactions", error) from error
    rows = [
        (row.transactional_id, node, row.producer_id, row.transaction_state)
        for node, listed in found.items()
        for row in listed
    ]
    print_table(args, "transactions", _LIST, rows)


def _describe(client: KafkaClient, args: argparse.Namespace) -> None:
    name = args.transactional_id
    outcome = describe_transactions(client, [name])[name]
    if isinstance(outcome, KafkaError):
        what = f"Failed to describe transaction state of transactional-id `{name}`"
        raise failed(what, outcome)
    node, state = outcome
    start: int | None = None
    duration: int | None = None
    if state.transaction_start_time_ms >= 0:
        start = state.transaction_start_time_ms
        duration = time.time_ns() // 1_000_000 - start
    partitions = [(topic.topic, index) for topic in state.topics for index in topic.partitions]
    row: list[Cell] = [
        *(node, name, state.producer_id, state.producer_epoch),
        *(state.transaction_state, state.transaction_timeout_ms, start, duration),
        list(partition_order(partitions)),
    ]
    print_table(args, "transactions", _DESCRIBE, [row])


def _describe_producers(client: KafkaClient, args: argparse.Namespace) -> None:
    partition = (args.topic, args.partition)
    require_partition(client, partition)
    outcome = describe_producers(client, [partition], broker_id=args.broker_id)[partition]
    if isinstance(outcome, KafkaError):
        where = "leader" if args.broker_id is None else f"broker {args.broker_id}"
        what = f"Failed to describe producers for partition {args.topic}-{args.partition}"
        raise failed(f"{what} on {where}", outcome)
    rows = []
    for row in outcome:
        start = row.current_txn_start_offset
        rows.append(
            (
                *(row.producer_id, row.producer_epoch, row.coordinator_epoch),
                *(row.last_sequence, row.last_timestamp, start if start >= 0 else None),
            )
        )
    print_table(args, "producers", _PRODUCERS, rows)


def _force(client: KafkaClient, args: argparse.Namespace) -> None:
    try:
        end_transaction_of(client, args.transactional_id)
    except KafkaError as error:
        name = args.transactional_id
        raise failed(f"Failed to force terminate transactionalId `{name}`", error) from error
