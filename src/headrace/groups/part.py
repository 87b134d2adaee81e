"""The parts that a group coordinator is made of: each looks after some requests and records.

`GroupCoordinator` only finds the part; what is done with a request, a record or a timer is decided
in `groups.offsets`, `groups.classic` and `groups.consumer`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from headrace.base.outcome import Outcome
from headrace.groups.call import Call, GroupOutcome
from headrace.groups.timer_names import TimerName
from headrace.groups.topics import TopicView
from headrace.protocol.coordinator_record import CoordinatorRecord

Handle = Callable[[Call[Any]], GroupOutcome]
#: Key, value (None for a tombstone), producer id (-1 outside of transactions).
Apply = Callable[[Any, Any, int], None]
Expire = Callable[[TimerName, int], GroupOutcome]


class Part:
    """A base that handles nothing."""

    def requests(self) -> Mapping[type[Any], Handle]:
        """Requests, and parts of them, that go here whatever the group is."""
        return {}

    def member_requests(self) -> Mapping[type[Any], Handle]:
        """Requests of members of this part's type of group.

        JoinGroup, SyncGroup, Heartbeat and LeaveGroup go to the part of the type that the group
        `request.group_id` has now; to the classic part if there is no such group.
        """
        return {}

    def records(self) -> Mapping[type[CoordinatorRecord], Apply]:
        """Who applies a record, by the class of its key."""
        return {}

    def timers(self) -> Mapping[str, Expire]:
        """Who hears of an expired timer, by the kind in its name."""
        return {}

    def loaded(self, now_ms: int) -> GroupOutcome:
        """All records have been applied, of all parts."""
        return Outcome()

    def topics_changed(
        self, changed: Collection[str], deleted: Collection[TopicView], now_ms: int
    ) -> GroupOutcome:
        """Topics were made, got partitions, or are gone."""
        return Outcome()
