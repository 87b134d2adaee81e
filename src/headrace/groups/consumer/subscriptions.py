"""What a group reads, counted over its members: topics by name, and topics by regular expression.

Counts are kept rather than computed, so that one heartbeat costs the same in a group of ten
thousand members. `with_change` and `without` answer "what if" for a request whose records are not
applied yet.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from headrace.groups.consumer.member import Member

#: Topics by name -> [members that name it, regular expressions that match it].
TopicCounts = dict[str, tuple[int, int]]


class ResolvedRegex(NamedTuple):
    """The topics that a regular expression matched, in which metadata, and when."""

    topics: frozenset[str]
    version: int
    timestamp_ms: int


class Subscriptions:
    """Of one group."""

    __slots__ = ("regexes", "resolved", "topics")

    def __init__(self) -> None:
        self.topics: TopicCounts = {}
        #: How many members subscribe to a regular expression.
        self.regexes: dict[str, int] = {}
        #: Those that have been looked up; all at the same time, so any one tells when.
        self.resolved: dict[str, ResolvedRegex] = {}

    def copy(self) -> Subscriptions:
        other = Subscriptions()
        other.topics = dict(self.topics)
        other.regexes = dict(self.regexes)
        other.resolved = dict(self.resolved)
        return other

    def replace(self, old: Member | None, new: Member | None) -> None:
        """A member comes, goes or changes."""
        old_names = frozenset() if old is None else old.subscribed_topic_names
        new_names = frozenset() if new is None else new.subscribed_topic_names
        for name in old_names - new_names:
            self._count(name, -1, 0)
        for name in new_names - old_names:
            self._count(name, 1, 0)
        old_regex = "" if old is None else old.subscribed_topic_regex
        new_regex = "" if new is None else new.subscribed_topic_regex
        if old_regex != new_regex:
            _add(self.regexes, old_regex, -1)
            _add(self.regexes, new_regex, 1)

    def resolve(self, regex: str, resolved: ResolvedRegex | None) -> None:
        """A regular expression matches these topics now; None if it is not wanted any more."""
        before = self.resolved.pop(regex, None)
        for name in () if before is None else before.topics:
            self._count(name, 0, -1)
        if resolved is not None:
            self.resolved[regex] = resolved
            for name in resolved.topics:
                self._count(name, 0, 1)

    def with_change(self, old: Member, new: Member) -> Subscriptions:
        """As it will be when `new` has taken the place of `old`, its tombstones included."""
        if (
            old.subscribed_topic_names == new.subscribed_topic_names
            and old.subscribed_topic_regex == new.subscribed_topic_regex
        ):
            return self
        other = self.copy()
        other.replace(old, new)
        if old.subscribed_topic_regex not in other.regexes:
            other.resolve(old.subscribed_topic_regex, None)
        return other

    def without(self, members: Iterable[Member]) -> Subscriptions:
        """As it will be when these members are gone."""
        other = self.copy()
        for member in members:
            other.replace(member, None)
        for regex in self.regexes.keys() - other.regexes.keys():
            other.resolve(regex, None)
        return other

    def topics_of(self, member: Member) -> Collection[str]:
        """All that a member reads; a regular expression that is not resolved matches nothing."""
        resolved = self.resolved.get(member.subscribed_topic_regex)
        if resolved is None:
            return member.subscribed_topic_names
        return member.subscribed_topic_names | resolved.topics

    def are_all_the_same(self, member_count: int) -> bool:
        """Whether every member reads the same, which makes assigning simpler."""
        if not self.regexes:
            return all(by_name == member_count for by_name, _ in self.topics.values())
        if next(iter(self.regexes.values())) != member_count:
            return False
        return all(by_name == 0 and by_regex == 1 for by_name, by_regex in self.topics.values())

    @property
    def refreshed_ms(self) -> int | None:
        """When the regular expressions were last looked up."""
        for resolved in self.resolved.values():
            return resolved.timestamp_ms
        return None

    @property
    def resolved_version(self) -> int:
        """In which metadata they were last looked up."""
        for resolved in self.resolved.values():
            return resolved.version
        return 0

    def _count(self, name: str, by_name: int, by_regex: int) -> None:
        names, regexes = self.topics.get(name, (0, 0))
        names += by_name
        regexes += by_regex
        if names or regexes:
            self.topics[name] = (names, regexes)
        else:
            self.topics.pop(name, None)


def _add(counts: dict[str, int], key: str, step: int) -> None:
    if not key:
        return
    count = counts.get(key, 0) + step
    if count > 0:
        counts[key] = count
    else:
        counts.pop(key, None)
