"""The consumer group of a pipeline at the clusters it reads: its offsets, and how far it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from headrace.base.errors import KafkaError
from headrace.client.blocking import KafkaClient
from headrace.client.config import ClientConfig
from headrace.client.groups_offsets import CommittedOffset, commit_offsets, committed_offsets
from headrace.client.leaders import TopicPartition, find_leaders
from headrace.client.metadata import ask_topics
from headrace.client.offsets import EARLIEST, LATEST, list_offsets
from headrace.spark.offsets import OffsetJson, from_json, to_json
from headrace.spark.options import Subscription, client_config
from headrace.spark.pipelines.subscriptions import reads_topic

#: A commit is tried again after the next batch; nobody should wait for it much longer.
_TIMEOUTS = {"request.timeout.ms": "5000", "default.api.timeout.ms": "10000"}


@dataclass(frozen=True, slots=True)
class Place:
    """A cluster that a pipeline reads, and what it reads there."""

    settings: Mapping[str, str]
    subscriptions: tuple[Subscription, ...]

    def reads(self, topic: str) -> bool:
        return any(reads_topic(subscription, topic) for subscription in self.subscriptions)


class GroupAt:
    """The group at one cluster. Not for several threads."""

    def __init__(self, group: str, place: Place) -> None:
        self.group = group
        self.place = place
        self._client = KafkaClient(_config(place.settings))

    def close(self) -> None:
        self._client.close()

    def cluster_id(self) -> str:
        """Also finds out whether the cluster can be reached at all."""
        return self._client.refresh().cluster_id or ""

    def committed(self) -> dict[TopicPartition, CommittedOffset]:
        """The group's offsets of the topics that the pipeline reads."""
        found = committed_offsets(self._client, self.group)
        return {tp: offset for tp, offset in found.items() if self.place.reads(tp[0])}

    def commit(self, offsets: OffsetJson, metadata: str) -> None:
        """Commit those of the offsets that are this cluster's."""
        ours = {topic: found for topic, found in offsets.items() if self.place.reads(topic)}
        rows = {tp: CommittedOffset(o, metadata=metadata) for tp, o in from_json(ours).items()}
        commit_offsets(self._client, self.group, rows)

    def lag(self, offsets: OffsetJson) -> OffsetJson:
        """How many records lie between the offsets and the ends of their partitions."""
        ours = {topic: found for topic, found in offsets.items() if self.place.reads(topic)}
        positions = from_json(ours)
        ends = _known(list_offsets(self._client, dict.fromkeys(positions, LATEST)))
        return to_json({tp: max(0, ends[tp] - positions[tp]) for tp in positions if tp in ends})

    def complete(self, offsets: OffsetJson) -> OffsetJson:
        """With every partition of these topics: what is not known begins at its beginning.

        Spark takes starting offsets for all partitions or for none. Offsets that the partition has
        no more, or not yet, become the nearest that it has.
        """
        known = from_json(offsets)
        partitions = list(find_leaders(self._client, self._topics()))
        first = _known(list_offsets(self._client, dict.fromkeys(partitions, EARLIEST)))
        ends = _known(list_offsets(self._client, dict.fromkeys(partitions, LATEST)))
        return to_json(
            {
                tp: min(max(known.get(tp, first[tp]), first[tp]), ends[tp])
                for tp in partitions
                if tp in first and tp in ends
            }
        )

    def _topics(self) -> set[str]:
        names: set[str] = set()
        for subscription in self.place.subscriptions:
            names |= {*subscription.topics, *subscription.assigned}
        if any(subscription.pattern is not None for subscription in self.place.subscriptions):
            answer = self._client.retry(lambda: ask_topics(self._client.any_node(), None))
            names |= {topic.name for topic in answer.topics if topic.name is not None}
        return {name for name in names if self.place.reads(name)}


def _known(found: Mapping[TopicPartition, int | KafkaError]) -> dict[TopicPartition, int]:
    return {tp: offset for tp, offset in found.items() if not isinstance(offset, KafkaError)}


def _config(settings: Mapping[str, str]) -> ClientConfig:
    return client_config({**_TIMEOUTS, **settings})


def total(offsets: Iterable[Mapping[str, int]]) -> int:
    """The sum over all topics and partitions."""
    return sum(value for partitions in offsets for value in partitions.values())
