"""`headrace console-consumer --group`: the same tool, as a member of a group."""

from __future__ import annotations

import argparse

from headrace.cli.console_consumer import Consumer
from headrace.cli.console_options import reset_policy
from headrace.cli.consumer_settings import commits_itself, fetch_config
from headrace.cli.failure import CommandFailedError
from headrace.cli.record_format import RecordFormat
from headrace.cli.termination import SigtermRaises
from headrace.client.blocking import KafkaClient
from headrace.client.fetched import FetchedBatch
from headrace.client.groups_consumer import GroupConsumer, GroupConsumerConfig
from headrace.client.membership.config import member_config
from headrace.client.resetting import ResetPolicy


class GroupedConsumer(Consumer):
    """Reads what the group assigns to it, and commits what it has printed."""

    def __init__(
        self,
        client: KafkaClient,
        args: argparse.Namespace,
        settings: dict[str, str],
        formatter: RecordFormat,
        group: str,
    ) -> None:
        super().__init__(client, args, settings, formatter)
        config = group_config(settings, group, reset_policy(args, settings))
        self._group = GroupConsumer(client, config, self._find_topics)
        self._reader = self._group.reader

    def run(self, sigterm: SigtermRaises) -> None:
        try:
            super().run(sigterm)
        finally:
            self._group.close()

    def _look_for_partitions(self, wait_ms: int) -> None:
        self._group.keep_up(wait_ms)

    def _print(self, batch: FetchedBatch, limit: int) -> bool:
        room = limit - self.count
        is_done = super()._print(batch, limit)
        # Records past --max-messages were not printed: whoever comes next begins with them.
        is_cut = is_done and len(batch.records) > room
        end = batch.records[room].offset if is_cut else batch.next_offset
        self._group.took(batch.partition, end, batch.leader_epoch)
        return is_done

    def _find_topics(self) -> dict[str, int]:
        counts: dict[str, int] = {}
        for topic, _ in self._wanted():
            counts[topic] = counts.get(topic, 0) + 1
        return counts


def group_config(
    settings: dict[str, str], group: str, reset_to: ResetPolicy
) -> GroupConsumerConfig:
    """A consumer in a group from settings under Kafka's names, which have been checked."""
    try:
        member = member_config(settings, group)
    except ValueError as error:
        raise CommandFailedError(str(error)) from error
    return GroupConsumerConfig(
        member,
        fetch_config(settings, reset_to),
        commits_itself(settings),
        int(settings.get("auto.commit.interval.ms", 5_000)),
    )
