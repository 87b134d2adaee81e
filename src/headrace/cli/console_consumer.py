"""`headrace console-consumer`: Kafka's `kafka-console-consumer.sh`.

Without a group it reads all partitions of its topics itself; with one, its share of them.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Iterator

from headrace.base.errors import KafkaError
from headrace.cli.connecting import open_client
from headrace.cli.console_options import (
    add_arguments,
    check_arguments,
    consumer_settings,
    formatter_properties,
    group_id,
    parse_offset,
    reset_policy,
)
from headrace.cli.consumer_settings import fetch_config
from headrace.cli.failure import CommandFailedError, describe
from headrace.cli.output import wants_json
from headrace.cli.record_format import RecordFormat, find_format, find_json_format
from headrace.cli.termination import EXIT_TERMINATED, SigtermRaises, Terminated
from headrace.client.blocking import KafkaClient
from headrace.client.fetched import FetchedBatch
from headrace.client.fetching import PartitionReader
from headrace.client.leaders import TopicPartition
from headrace.client.metadata import ask_topics
from headrace.client.offsets import EARLIEST, LATEST
from headrace.client.resetting import ByDuration, reset_positions

__all__ = ["add_arguments", "run"]

#: How often to look for new partitions, and for new topics that match.
_DISCOVERY_SECONDS = 5.0
_POLL_MS = 500


def run(args: argparse.Namespace) -> int:
    check_arguments(args)
    settings = consumer_settings(args)
    group = group_id(args, settings)
    find = find_json_format if wants_json(args) else find_format
    formatter = find(args.formatter, formatter_properties(args))
    try:
        with SigtermRaises() as sigterm, open_client(args, "console-consumer", settings) as client:
            return _run(_consumer(client, args, settings, formatter, group), args, sigterm)
    except Terminated:
        return EXIT_TERMINATED


def _run(consumer: Consumer, args: argparse.Namespace, sigterm: SigtermRaises) -> int:
    try:
        consumer.run(sigterm)
    except KafkaError as error:
        print(describe(error), file=sys.stderr)
        return 1
    finally:
        print(f"Processed a total of {consumer.count} messages", file=sys.stderr)
        if args.enable_systest_events:
            print("shutdown_complete")
    return 0


def _consumer(
    client: KafkaClient,
    args: argparse.Namespace,
    settings: dict[str, str],
    formatter: RecordFormat,
    group: str | None,
) -> Consumer:
    if group is None:
        return Consumer(client, args, settings, formatter)
    from headrace.cli.console_group import GroupedConsumer

    return GroupedConsumer(client, args, settings, formatter, group)


class Consumer:
    """One run of the tool: which partitions it reads, and what it has printed."""

    def __init__(
        self,
        client: KafkaClient,
        args: argparse.Namespace,
        settings: dict[str, str],
        formatter: RecordFormat,
    ) -> None:
        self._client = client
        self._args = args
        self._format = formatter
        self._reset_to = reset_policy(args, settings)
        self._fetch = fetch_config(settings, self._reset_to)
        self._reader = PartitionReader(client, self._fetch)
        self._is_first_look = True
        self._next_look = 0.0
        self._is_warned = False
        self.count = 0

    def run(self, sigterm: SigtermRaises) -> None:
        limit = self._args.max_messages if self._args.max_messages is not None else -1
        if limit == 0:
            return
        for batch in self._batches():
            with sigterm.held_back():  # what is printed counts as read
                is_done = self._print(batch, limit)
            if is_done:
                return

    def _batches(self) -> Iterator[FetchedBatch]:
        """Batches as they come, until nothing has come for --timeout-ms."""
        timeout_ms = self._args.timeout_ms
        waited_from = time.monotonic()
        while True:
            wait_ms = (
                _POLL_MS if timeout_ms is None or timeout_ms < 0 else min(_POLL_MS, timeout_ms)
            )
            self._look_for_partitions(wait_ms)
            for batch in self._reader.poll(wait_ms) if self._reader.positions else ():
                yield batch
                if batch.records:
                    waited_from = time.monotonic()
            sys.stdout.buffer.flush()
            elapsed_ms = (time.monotonic() - waited_from) * 1000
            if timeout_ms is not None and 0 <= timeout_ms < elapsed_ms:
                return

    def _print(self, batch: FetchedBatch, limit: int) -> bool:
        """Print a batch; True when the limit is reached."""
        if batch.error is not None:
            self._complain(batch, batch.error)
        records = batch.records if limit < 0 else batch.records[: limit - self.count]
        lines = []
        for record in records:
            self.count += 1
            try:
                lines.append(self._format(batch, record))
            except ValueError as error:
                self._complain(batch, error)
        sys.stdout.buffer.write(b"".join(lines))
        return self.count == limit

    def _complain(self, batch: FetchedBatch, error: Exception) -> None:
        topic, partition = batch.partition
        text = describe(error) if isinstance(error, KafkaError) else str(error)
        sentence = f"Error processing a message of {topic}-{partition}: {text}"
        if not self._args.skip_message_on_error:
            raise CommandFailedError(sentence)
        print(sentence, file=sys.stderr)

    # ---------------------------------------------------------------- which partitions

    def _look_for_partitions(self, wait_ms: int) -> None:
        """Find what to read; while there is nothing, wait so long."""
        self._find_partitions()
        if not self._reader.positions:
            time.sleep(wait_ms / 1000)

    def _find_partitions(self) -> None:
        if time.monotonic() < self._next_look:
            return
        self._next_look = time.monotonic() + _DISCOVERY_SECONDS
        new = [tp for tp in self._wanted() if tp not in self._reader.positions]
        if not new:
            return
        # What appears while we run is read from its beginning: all of it came after we began.
        start = self._start() if self._is_first_look else EARLIEST
        self._is_first_look = False
        if isinstance(start, int) and start >= 0:
            self._reader.assign(dict.fromkeys(new, start))
        else:
            committed = self._fetch.read_committed
            found = reset_positions(self._client, new, start, read_committed=committed)
            self._reader.assign(found)

    def _wanted(self) -> list[TopicPartition]:
        args = self._args
        names = None if args.topic is None else [args.topic]
        answer = self._client.retry(
            lambda: ask_topics(self._client.any_node(), names, create=names is not None)
        )
        partitions = [
            (topic.name, partition.partition_index)
            for topic in answer.topics
            if topic.name is not None
            and not topic.error_code
            and (args.topic is not None or self._is_included(topic.name, topic.is_internal))
            for partition in topic.partitions
        ]
        if not partitions:
            self._next_look = time.monotonic() + 0.2
            self._warn_missing()
        if args.partition is None or not partitions:
            return partitions
        if (args.topic, args.partition) not in partitions:
            raise CommandFailedError(f"Topic {args.topic} has no partition {args.partition}.")
        return [(args.topic, args.partition)]

    def _is_included(self, name: str, is_internal: bool) -> bool:
        return not is_internal and re.fullmatch(self._args.include, name) is not None

    def _warn_missing(self) -> None:
        if not self._is_warned:
            what = self._args.topic or f"matching {self._args.include}"
            print(f"There is no topic {what} yet, waiting for it ...", file=sys.stderr)
            self._is_warned = True

    def _start(self) -> int | ByDuration:
        if self._args.partition is not None and self._args.offset is not None:
            return parse_offset(self._args.offset)
        return self._reset_to if self._reset_to is not None else LATEST
