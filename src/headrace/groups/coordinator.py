"""The group coordinator of one partition of `__consumer_offsets`: pure, and made of parts.

Requests, records, timers and changes of topics come in; outcomes go out. What is in them is decided
by the parts; here each thing only finds its part.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from headrace.base.errors import KafkaError
from headrace.base.outcome import Outcome
from headrace.groups.activity import Activity
from headrace.groups.call import Call, Client, GroupOutcome
from headrace.groups.classic.classic_groups import ClassicGroups
from headrace.groups.config import GroupConfig
from headrace.groups.group import GroupType
from headrace.groups.group_store import GroupStore
from headrace.groups.inventory import Inventory
from headrace.groups.offsets import Offsets
from headrace.groups.part import Apply, Expire, Handle, Part
from headrace.groups.preparation import Unprepared
from headrace.groups.timer_names import TimerName
from headrace.groups.topics import Topics, TopicView
from headrace.protocol.coordinator_record import CoordinatorRecord


class GroupCoordinator:
    """Groups of all types, their members and their offsets."""

    def __init__(self, config: GroupConfig, topics: Topics, new_id: Callable[[], str]) -> None:
        """`new_id` draws the random part of a member id."""
        self.groups = GroupStore()
        self.offsets = Offsets(config, self.groups, topics)
        self.classic = ClassicGroups(config, self.groups, new_id)
        self._parts: list[Part] = []
        self._requests: dict[type[Any], Handle] = {}
        self._member_requests: dict[GroupType, dict[type[Any], Handle]] = {}
        self._records: dict[type[CoordinatorRecord], Apply] = {}
        self._timers: dict[str, Expire] = {}
        self.add(self.offsets)
        self.add(Inventory(self.groups, self.offsets.deletions))
        self.add(self.classic, GroupType.CLASSIC)

    def add(self, part: Part, members_of: GroupType | None = None) -> None:
        """Take in a part; `members_of` is the type of group whose members it serves."""
        self._parts.append(part)
        self._requests.update(part.requests())
        self._records.update(part.records())
        self._timers.update(part.timers())
        if members_of is not None:
            self._member_requests[members_of] = dict(part.member_requests())

    def handle(self, token: int, request: Any, client: Client, now_ms: int) -> GroupOutcome:
        """Serve a request, or a part of one; a refusal is the `KafkaError` in the reply."""
        call = Call(token, request, client, now_ms)
        try:
            return self._handler(request)(call)
        except KafkaError as error:
            return call.answer(error)
        except Unprepared as unprepared:
            return Outcome(preparation=unprepared.steps)

    def apply(self, key: Any, value: Any, producer_id: int) -> None:
        """Take over a committed record."""
        handler = self._records.get(type(key))
        if handler is not None:
            handler(key, value, producer_id)

    def apply_marker(self, producer_id: int, committed: bool) -> None:
        """A producer's transaction ended."""
        self.offsets.store.apply_marker(producer_id, committed)

    def timer_expired(self, name: str, now_ms: int) -> GroupOutcome:
        parsed = TimerName.parse(name)
        try:
            return self._timers[parsed.kind](parsed, now_ms)
        except Unprepared as unprepared:
            return Outcome(preparation=unprepared.steps)

    def loaded(self, now_ms: int) -> GroupOutcome:
        # What was replayed was done by those before.
        self.groups.activity = Activity()
        return _together([part.loaded(now_ms) for part in self._parts])

    def topics_changed(
        self, changed: Collection[str], deleted: Collection[TopicView], now_ms: int
    ) -> GroupOutcome:
        """The metadata has topics that are new, larger or gone."""
        try:
            return _together(
                [part.topics_changed(changed, deleted, now_ms) for part in self._parts]
            )
        except Unprepared as unprepared:
            return Outcome(preparation=unprepared.steps)

    def _handler(self, request: Any) -> Handle:
        handler = self._requests.get(type(request))
        if handler is not None:
            return handler
        group = self.groups.get(request.group_id)
        group_type = GroupType.CLASSIC if group is None else group.type
        return self._member_requests[group_type][type(request)]


def _together(outcomes: Sequence[GroupOutcome]) -> GroupOutcome:
    """What several parts want at once; none of it has to be atomic."""
    all_of_it: GroupOutcome = Outcome(is_atomic=False)
    for outcome in outcomes:
        all_of_it.records += outcome.records
        all_of_it.replies += outcome.replies
        all_of_it.timers += outcome.timers
    # Sessions end and offsets expire whether or not something could be written.
    all_of_it.if_failed = lambda error, _: Outcome(
        replies=[(token, error) for token, _ in all_of_it.replies], timers=all_of_it.timers
    )
    return all_of_it
