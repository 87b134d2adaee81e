"""What an assignor has to know about a group, from what the coordinator knows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from headrace.groups.consumer.assignors.spec import GroupSpec, MemberSpec, Steps, slices
from headrace.groups.consumer.member import Member, Partitions
from headrace.groups.consumer.subscriptions import Subscriptions
from headrace.groups.topics import Topics

_NOTHING: Partitions = {}


class Snapshot(NamedTuple):
    """A group at one moment; it may change while its assignment is made."""

    members: list[Member]
    targets: Mapping[str, Partitions]
    subscriptions: Subscriptions
    is_homogeneous: bool


def group_spec(snapshot: Snapshot, topics: Topics) -> Steps[GroupSpec]:
    reading = ReadTopics(topics, snapshot.subscriptions)
    targets = snapshot.targets
    members = []
    for some in slices(snapshot.members):
        members += [
            MemberSpec(
                member.member_id,
                member.instance_id,
                reading.of(member),
                targets.get(member.member_id, _NOTHING),
            )
            for member in some
        ]
        yield
    counts = dict(sorted(reading.partition_counts.items()))
    return GroupSpec(members, counts, snapshot.is_homogeneous)


class ReadBy:
    """The ids of the topics that one member reads; asked for a few, so none is looked up before."""

    __slots__ = ("_names", "_regex_topics", "_topics")

    def __init__(self, member: Member, subscriptions: Subscriptions, topics: Topics) -> None:
        resolved = subscriptions.resolved.get(member.subscribed_topic_regex)
        self._names = member.subscribed_topic_names
        self._regex_topics = frozenset() if resolved is None else resolved.topics
        self._topics = topics

    def __contains__(self, topic_id: object) -> bool:
        view = self._topics.identified(topic_id) if isinstance(topic_id, bytes) else None
        return view is not None and (view.name in self._names or view.name in self._regex_topics)


class ReadTopics:
    """Which topics members read, as ids; members with the same subscription share the answer."""

    def __init__(self, topics: Topics, subscriptions: Subscriptions) -> None:
        self.partition_counts: dict[bytes, int] = {}
        self._topics = topics
        self._subscriptions = subscriptions
        self._shared: dict[tuple[frozenset[str], str], frozenset[bytes]] = {}

    def of(self, member: Member) -> frozenset[bytes]:
        key = (member.subscribed_topic_names, member.subscribed_topic_regex)
        topic_ids = self._shared.get(key)
        if topic_ids is None:
            views = map(self._topics.named, self._subscriptions.topics_of(member))
            found = {view.topic_id: view.partition_count for view in views if view is not None}
            self.partition_counts.update(found)
            topic_ids = self._shared[key] = frozenset(found)
        return topic_ids
