"""How far a group is with each partition: committed offset, end of the log, and their distance."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from headrace.base.errors import KafkaError
from headrace.client.blocking import KafkaClient
from headrace.client.groups_describe import GroupDescription, MemberDescription
from headrace.client.groups_offsets import CommittedOffset, committed_offsets
from headrace.client.leaders import NO_LEADER, TopicPartition, find_leaders
from headrace.client.offsets import LATEST, list_offsets

_NOBODY = "-"


@dataclass(slots=True)
class PartitionLag:
    """One line of the table; None is what nobody knows."""

    topic: str
    partition: int
    offset: int | None
    leader_epoch: int | None
    log_end_offset: int | None
    consumer_id: str
    host: str
    client_id: str

    @property
    def lag(self) -> int | None:
        if self.offset is None or self.log_end_offset is None:
            return None
        return self.log_end_offset - self.offset

    def as_json(self) -> dict[str, object]:
        return {
            "topic": self.topic,
            "partition": self.partition,
            "currentOffset": self.offset,
            "leaderEpoch": self.leader_epoch,
            "logEndOffset": self.log_end_offset,
            "lag": self.lag,
            "consumerId": None if self.consumer_id == _NOBODY else self.consumer_id,
            "host": None if self.host == _NOBODY else self.host,
            "clientId": None if self.client_id == _NOBODY else self.client_id,
        }


def group_lag(client: KafkaClient, group: GroupDescription) -> list[PartitionLag]:
    """The partitions of each member, busiest member first, then those that nobody has."""
    committed = committed_offsets(client, group.group_id)
    owned = sorted((m for m in group.members if m.assignment), key=lambda m: -len(m.assignment))
    assigned = {partition for member in owned for partition in member.assignment}
    ends = log_end_offsets(client, assigned | committed.keys())
    return [
        *(
            _row(tp, committed, ends, member)
            for member in owned
            for tp in sorted(member.assignment)
        ),
        *(_row(tp, committed, ends, None) for tp in sorted(committed.keys() - assigned)),
    ]


def _row(
    partition: TopicPartition,
    committed: dict[TopicPartition, CommittedOffset],
    ends: dict[TopicPartition, int],
    member: MemberDescription | None,
) -> PartitionLag:
    offset = committed.get(partition)
    return PartitionLag(
        *partition,
        None if offset is None else offset.offset,
        None if offset is None or offset.leader_epoch < 0 else offset.leader_epoch,
        ends.get(partition),
        _NOBODY if member is None else member.member_id,
        _NOBODY if member is None else member.host,
        _NOBODY if member is None else member.client_id,
    )


def log_end_offsets(
    client: KafkaClient, partitions: Iterable[TopicPartition]
) -> dict[TopicPartition, int]:
    """The end of each partition; those without a leader are left out, at once."""
    wanted = set(partitions)
    if not wanted:
        return {}
    leaders = find_leaders(client, {topic for topic, _ in wanted})
    led = [p for p in wanted if leaders.get(p, NO_LEADER) != NO_LEADER]
    found = list_offsets(client, dict.fromkeys(led, LATEST))
    return {p: offset for p, offset in found.items() if not isinstance(offset, KafkaError)}
