"""`headrace transactions find-hanging` and `abort`.

A transaction hangs when a partition has it open but its coordinator does not know of it any
more: nobody will ever end it, and readers of committed records stop before it.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator

from headrace.base.errors import ErrorCode, KafkaError
from headrace.cli.failure import CommandFailedError
from headrace.cli.transactions import failed
from headrace.cli.transactions_requests import (
    all_partitions,
    describe_producers,
    describe_transactions,
    list_transactions,
    require_partition,
    write_abort_marker,
)
from headrace.cli.transactions_table import print_table
from headrace.client.blocking import KafkaClient
from headrace.client.leaders import TopicPartition
from headrace.protocol.messages.describe_producers import ProducerState

_COLUMNS = (
    "Topic",
    "Partition",
    "ProducerId",
    "ProducerEpoch",
    "CoordinatorEpoch",
    "StartOffset",
    "LastTimestamp",
    "Duration(min)",
)
#: So many partitions are asked about at a time.
_BATCH = 500
_MINUTE_MS = 60_000


def find_hanging(client: KafkaClient, args: argparse.Namespace) -> None:
    if args.topic is None and args.broker_id is None:
        raise CommandFailedError(
            "The `find-hanging` command requires either --topic"
            " or --broker-id to limit the scope of the search"
        )
    if args.partition is not None and args.topic is None:
        raise CommandFailedError("The --partition argument requires --topic to be provided")
    now_ms = time.time_ns() // 1_000_000
    oldest_ms = now_ms - args.max_transaction_timeout * _MINUTE_MS
    opened = [
        (partition, producer)
        for partition, producer in _open_transactions(client, args)
        if producer.last_timestamp < oldest_ms
    ]
    coordinated = _coordinated(client, {producer.producer_id for _, producer in opened})
    rows = []
    for (topic, index), row in opened:
        if (topic, index) in coordinated.get(row.producer_id, ()):
            continue
        numbers = (
            *(index, row.producer_id, row.producer_epoch, row.coordinator_epoch),
            *(row.current_txn_start_offset, row.last_timestamp),
            (now_ms - row.last_timestamp) // _MINUTE_MS,
        )
        rows.append((topic, *numbers))
    print_table(args, "hangingTransactions", _COLUMNS, rows)


def _open_transactions(
    client: KafkaClient, args: argparse.Namespace
) -> Iterator[tuple[TopicPartition, ProducerState]]:
    if args.partition is None:
        partitions = all_partitions(client, args.topic, args.broker_id)
    else:
        partitions = [(args.topic, args.partition)]
        require_partition(client, partitions[0])
    for start in range(0, len(partitions), _BATCH):
        batch = partitions[start : start + _BATCH]
        found = describe_producers(client, batch, broker_id=args.broker_id)
        for partition, producers in found.items():
            if isinstance(producers, KafkaError):
                what = f"Failed to describe producers for {len(batch)} partitions"
                raise failed(what, producers)
            for producer in producers:
                if producer.current_txn_start_offset >= 0:
                    yield partition, producer


def _coordinated(client: KafkaClient, producer_ids: set[int]) -> dict[int, set[TopicPartition]]:
    """The partitions that coordinators know to be part of each producer's transaction."""
    if not producer_ids:
        return {}
    listed = list_transactions(client, producer_ids=sorted(producer_ids))
    names = {
        row.transactional_id: row.producer_id
        for rows in listed.values()
        for row in rows
        if row.producer_id in producer_ids
    }
    known: dict[int, set[TopicPartition]] = {}
    for name, outcome in describe_transactions(client, list(names)).items():
        if isinstance(outcome, KafkaError):
            if outcome.code is not ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
                raise failed(f"Failed to describe {len(names)} transactions", outcome)
            continue
        _, state = outcome
        known.setdefault(names[name], set()).update(
            (topic.topic, index) for topic in state.topics for index in topic.partitions
        )
    return known


def abort(client: KafkaClient, args: argparse.Namespace) -> None:
    partition = (args.topic, args.partition)
    named = _named_producer(args) if args.start_offset is None else None
    require_partition(client, partition)
    producer = named or _producer_at(client, partition, args.start_offset)
    try:
        write_abort_marker(client, partition, producer)
    except KafkaError as error:
        what = f"Failed to abort the transaction of producer {producer.producer_id}"
        raise failed(f"{what} in {args.topic}-{args.partition}", error) from error


def _named_producer(args: argparse.Namespace) -> ProducerState:
    if args.producer_id is None:
        raise CommandFailedError(
            "The transaction to abort must be identified either with"
            " --start-offset (for brokers on 3.0 or above) or with"
            " --producer-id, --producer-epoch, and --coordinator-epoch (for older brokers)"
        )
    for name in ("producer-epoch", "coordinator-epoch"):
        if getattr(args, name.replace("-", "_")) is None:
            raise CommandFailedError(f"Missing required argument --{name}")
    return ProducerState(
        producer_id=args.producer_id,
        producer_epoch=args.producer_epoch,
        coordinator_epoch=args.coordinator_epoch,
    )


def _producer_at(
    client: KafkaClient, partition: TopicPartition, start_offset: int
) -> ProducerState:
    name = f"{partition[0]}-{partition[1]}"
    outcome = describe_producers(client, [partition])[partition]
    if isinstance(outcome, KafkaError):
        raise failed(f"Failed to validate producer state for partition {name}", outcome)
    for producer in outcome:
        if producer.current_txn_start_offset == start_offset >= 0:
            return producer
    raise CommandFailedError(
        f"Could not find any open transactions starting at offset {start_offset}"
        f" on partition {name}"
    )
