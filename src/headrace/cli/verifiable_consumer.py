"""`headrace verifiable-consumer`: Kafka's `kafka-verifiable-consumer.sh`.

A member of a group that tells everything that happens to it as lines of JSON.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable

from headrace.base.errors import KafkaError
from headrace.cli.connecting import add_bootstrap_server, open_client, read_command_config
from headrace.cli.console_group import group_config
from headrace.cli.consumer_groups_errors import sentence
from headrace.cli.consumer_settings import checked_settings, parse_reset
from headrace.cli.verifiable_events import StopSignal, emit
from headrace.client.blocking import KafkaClient
from headrace.client.fetched import FetchedBatch
from headrace.client.groups_consumer import GroupConsumer, GroupConsumerConfig
from headrace.client.leaders import TopicPartition
from headrace.client.membership.config import CLASSIC, CONSUMER
from headrace.client.metadata import ask_topics
from headrace.records.record import Record

_POLL_MS = 500
_DEFAULT_STRATEGY = "org.apache.kafka.clients.consumer.RangeAssignor"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_bootstrap_server(parser, "--broker-list")
    add = parser.add_argument
    add("--topic", required=True, help="the topic to read")
    add("--group-id", required=True, help="the group to join")
    add("--group-instance-id", metavar="ID", help="be this static member of the group")
    add("--group-protocol", default=CLASSIC, help="classic (the default) or consumer (KIP-848)")
    add(
        "--group-remote-assignor",
        metavar="NAME",
        help="uniform or range: the broker's assignor, for the consumer protocol",
    )
    add(
        "--assignment-strategy",
        default=_DEFAULT_STRATEGY,
        metavar="CLASS,...",
        help="RangeAssignor (the default), RoundRobinAssignor, StickyAssignor or"
        " CooperativeStickyAssignor, for the classic protocol",
    )
    add("--max-messages", type=int, default=-1, metavar="N", help="how many (default: no end)")
    add("--session-timeout", type=int, default=30_000, metavar="MS", help="of the member")
    add("--verbose", action="store_true", help="tell of every record")
    add("--enable-autocommit", action="store_true", help="commit from time to time only")
    add(
        "--reset-policy",
        default="earliest",
        metavar="POLICY",
        help="where to begin: earliest (the default), latest, none or by_duration:PnDTnHnMnS",
    )
    add("--command-config", "--consumer.config", metavar="FILE", help="properties file")


def run(args: argparse.Namespace) -> int:
    settings = read_command_config(args.command_config)
    with open_client(args, "verifiable-consumer", settings) as client, StopSignal() as stop:
        consumer = VerifiableConsumer(client, args, _config(args, settings))
        emit("startup_complete")
        try:
            consumer.run(stop)
        except KafkaError as error:
            print(sentence(error), file=sys.stderr)
            return 1
        finally:
            consumer.close()
            emit("shutdown_complete")
    return 0


def _config(args: argparse.Namespace, settings: dict[str, str]) -> GroupConsumerConfig:
    given = {
        "group.protocol": args.group_protocol,
        "enable.auto.commit": str(args.enable_autocommit),
    }
    if args.group_protocol.lower() == CONSUMER:
        if args.group_remote_assignor is not None:
            given["group.remote.assignor"] = args.group_remote_assignor
    else:
        given["session.timeout.ms"] = str(args.session_timeout)
        given["partition.assignment.strategy"] = args.assignment_strategy
    if args.group_instance_id is not None:
        given["group.instance.id"] = args.group_instance_id
    reset_to = parse_reset("auto.offset.reset", args.reset_policy)
    return group_config(checked_settings(settings) | given, args.group_id, reset_to)


class VerifiableConsumer:
    """One run of the tool; it listens to its own rebalances."""

    def __init__(
        self, client: KafkaClient, args: argparse.Namespace, config: GroupConsumerConfig
    ) -> None:
        self._client = client
        self._args = args
        self._group = GroupConsumer(client, config, self._find_topics, self)
        self._commits_itself = config.enable_auto_commit
        self._count = 0

    def run(self, stop: StopSignal) -> None:
        while not stop.is_set and not self._is_finished():
            self._group.keep_up(_POLL_MS)
            if self._group.reader.positions:
                self._take(list(self._group.reader.poll(_POLL_MS)))

    def close(self) -> None:
        self._group.close()

    def revoked(self, partitions: Iterable[TopicPartition]) -> None:
        emit("partitions_revoked", partitions=[_partition(tp) for tp in partitions])

    def lost(self, partitions: Iterable[TopicPartition]) -> None:
        """Told as Kafka's tool does, whose listener knows no difference."""
        self.revoked(partitions)

    def assigned(self, partitions: Iterable[TopicPartition]) -> None:
        emit("partitions_assigned", partitions=[_partition(tp) for tp in partitions])

    def _is_finished(self) -> bool:
        return bool(0 <= self._args.max_messages <= self._count)

    def _take(self, batches: list[FetchedBatch]) -> None:
        taken: dict[TopicPartition, list[Record]] = {}
        epochs: dict[TopicPartition, int] = {}
        arrived = 0
        for batch in batches:
            if batch.error is not None:
                raise batch.error
            arrived += len(batch.records)
            room = self._args.max_messages - self._count
            rows = batch.records if self._args.max_messages < 0 else batch.records[:room]
            if not rows:
                continue
            taken.setdefault(batch.partition, []).extend(rows)
            epochs[batch.partition] = batch.leader_epoch
            self._count += len(rows)
        if taken:
            self._tell(taken, arrived)
            self._commit({tp: rows[-1].offset + 1 for tp, rows in taken.items()}, epochs)

    def _tell(self, taken: dict[TopicPartition, list[Record]], arrived: int) -> None:
        summaries = []
        for tp, rows in taken.items():
            for record in rows if self._args.verbose else ():
                emit(
                    "record_data",
                    key=_text(record.key),
                    value=_text(record.value),
                    **_partition(tp),
                    offset=record.offset,
                )
            offsets = {"minOffset": rows[0].offset, "maxOffset": rows[-1].offset}
            summaries.append({**_partition(tp), "count": len(rows), **offsets})
        emit("records_consumed", count=arrived, partitions=summaries)

    def _commit(
        self, offsets: dict[TopicPartition, int], epochs: dict[TopicPartition, int]
    ) -> None:
        for partition, offset in offsets.items():
            self._group.took(partition, offset, epochs[partition])
        if self._commits_itself:
            return
        rows = [{**_partition(tp), "offset": offset} for tp, offset in offsets.items()]
        try:
            self._group.commit(offsets)
        except KafkaError as error:
            emit("offsets_committed", offsets=rows, error=sentence(error), success=False)
        else:
            emit("offsets_committed", offsets=rows, success=True)

    def _find_topics(self) -> dict[str, int]:
        answer = self._client.retry(
            lambda: ask_topics(self._client.any_node(), [self._args.topic], create=True)
        )
        return {
            topic.name: len(topic.partitions)
            for topic in answer.topics
            if topic.name is not None and not topic.error_code and topic.partitions
        }


def _partition(partition: TopicPartition) -> dict[str, object]:
    return {"topic": partition[0], "partition": partition[1]}


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode(errors="replace")
