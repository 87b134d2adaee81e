"""When the regular expressions of a group are looked up, and what follows from the result.

All expressions of a group are looked up together, so that one change of topics makes one
rebalance: when a new one comes, when there are new topics, and once in a while; but never more than
once in ten seconds.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from enum import Enum
from weakref import WeakKeyDictionary

from headrace.base.errors import KafkaError
from headrace.base.outcome import Outcome, SetTimer
from headrace.groups.call import Client, GroupOutcome
from headrace.groups.consumer.config import ConsumerGroupConfig
from headrace.groups.consumer.group import ConsumerGroup
from headrace.groups.consumer.group_epochs import GroupEpochs
from headrace.groups.consumer.group_records import regex_record, regex_tombstone
from headrace.groups.consumer.member import Member
from headrace.groups.consumer.regexes import RegexLookup, check_regex
from headrace.groups.group_store import GroupStore
from headrace.groups.timer_names import TimerName
from headrace.groups.topics import Topics

logger = logging.getLogger(__name__)

REGEX_TIMER = "consumer-regex"
_REFRESH_INTERVAL_MS_MIN = 10_000


class RegexChange(Enum):
    """What a heartbeat did to the regular expression of its member."""

    NONE = "none"
    #: It has another one, whose topics are not known yet.
    UPDATED = "updated"
    #: It has another one that the group has looked up already, or none any more.
    RESOLVED = "resolved"


class RegexRefresh:
    """Runs the lookups of all groups of a coordinator, one per group at a time."""

    def __init__(
        self, config: ConsumerGroupConfig, groups: GroupStore, topics: Topics, epochs: GroupEpochs
    ) -> None:
        self._config = config
        self._groups = groups
        self._topics = topics
        self._epochs = epochs
        self._running: dict[str, RegexLookup] = {}
        #: On whose behalf the next lookup of a group is made.
        self._asked_by: dict[str, Client] = {}
        #: When the result of a lookup could not be stored.
        self._failed_ms: WeakKeyDictionary[ConsumerGroup, int] = WeakKeyDictionary()
        self._known: set[str] = set()
        self._version_with_new_topics = 0

    def loaded(self) -> None:
        """There may be topics that were made before this coordinator had its say."""
        self._known = set(self._topics.names())
        self._version_with_new_topics = self._topics.version

    def topics_changed(self, changed: Collection[str], deleted: Collection[str]) -> None:
        """Only topics that were not there before are a reason to look again."""
        self._known.difference_update(deleted)
        new = {name for name in changed if name not in self._known and self._topics.named(name)}
        if new:
            self._known |= new
            self._version_with_new_topics = self._topics.version

    def member_changed(
        self,
        group: ConsumerGroup,
        old: Member,
        new: Member,
        client: Client,
        now_ms: int,
        outcome: GroupOutcome,
    ) -> RegexChange:
        """Check a new expression, drop the old one, and start a lookup if it is time."""
        change = RegexChange.NONE
        regexes = group.members.subscriptions.regexes
        regex, before = new.subscribed_topic_regex, old.subscribed_topic_regex
        is_unknown = False
        if regex != before:
            change = RegexChange.UPDATED
            if regexes.get(before) == 1:
                outcome.records.append(regex_tombstone(group.group_id, before))
            if not regex or regex in group.members.subscriptions.resolved:
                change = RegexChange.RESOLVED
            elif regex not in regexes:
                check_regex(regex)
                is_unknown = True
        if (is_unknown or regexes) and self._is_due(group, old, new, is_unknown, now_ms):
            # Topics that this client may not know of stay hidden from the group.
            self._asked_by[group.group_id] = client
            outcome.timers.append(SetTimer(_timer(group.group_id), now_ms))
        return change

    def timer_expired(self, name: TimerName, now_ms: int) -> GroupOutcome:
        """Do one step of a lookup, and come back for the next; or write the result."""
        outcome: GroupOutcome = Outcome()
        lookup = self._running.pop(name.group_id, None)
        client = self._asked_by.pop(name.group_id, None)
        group = self._groups.get(name.group_id)
        if not isinstance(group, ConsumerGroup):
            return outcome
        wanted = group.members.subscriptions.regexes
        if lookup is None:
            if client is None:
                return outcome
            lookup = RegexLookup(wanted, self._topics, client.may_describe, now_ms)
        resolved = lookup.step()
        if resolved is None:
            self._running[name.group_id] = lookup
            outcome.timers.append(SetTimer(_timer(name.group_id), now_ms))
            return outcome
        still_wanted = {regex: found for regex, found in resolved.items() if regex in wanted}
        for regex, found in still_wanted.items():
            outcome.records.append(regex_record(group.group_id, regex, found))
        self._epochs.regexes_resolved(group, still_wanted, now_ms, outcome)

        def failed(error: KafkaError, failed_ms: int) -> GroupOutcome:
            logger.warning(
                "Group %s: the topics of its regular expressions cannot be stored: %s %s",
                group.group_id,
                error.code.name,
                error.message,
            )
            self._failed_ms[group] = failed_ms
            return Outcome()

        outcome.if_failed = failed
        return outcome

    def _is_due(
        self, group: ConsumerGroup, old: Member, new: Member, is_unknown: bool, now_ms: int
    ) -> bool:
        if group.group_id in self._running:
            return False
        failed_ms = self._failed_ms.get(group)
        if failed_ms is not None and now_ms <= failed_ms + _REFRESH_INTERVAL_MS_MIN:
            return False
        subscriptions = group.members.subscriptions
        last_ms = subscriptions.refreshed_ms
        if last_ms is None:
            return True
        if now_ms <= last_ms + _REFRESH_INTERVAL_MS_MIN:
            return False
        after = subscriptions.with_change(old, new)
        return bool(after.regexes) and (
            is_unknown
            or len(after.regexes) != len(subscriptions.resolved)
            or subscriptions.resolved_version < self._version_with_new_topics
            or now_ms > last_ms + self._config.regex_refresh_interval_ms
        )


def _timer(group_id: str) -> str:
    return str(TimerName(REGEX_TIMER, group_id))
