"""How offsets go: OffsetDelete, DeleteGroups, deleted topics, and time."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import islice

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.outcome import Outcome, SetTimer
from headrace.base.uuids import ZERO_UUID
from headrace.groups.call import Call, GroupOutcome
from headrace.groups.config import GroupConfig
from headrace.groups.consumer.assignors.spec import Steps
from headrace.groups.group import Group, KeyValue
from headrace.groups.group_store import GroupStore
from headrace.groups.offset_store import CommittedOffset, OffsetPlace, OffsetStore
from headrace.groups.preparation import Preparation
from headrace.groups.records import OffsetCommitKey
from headrace.groups.timer_names import TimerName
from headrace.groups.topics import TopicView
from headrace.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)

EXPIRY_TIMER = "offset-expiry"
#: Groups looked at in one step, so that others get their turn.
_GROUPS_AT_ONCE = 1_000
#: With more groups than this the offsets of deleted topics are looked for in steps,
_SEARCHED_AT_ONCE = 500
#: each of so many groups and offsets; a hundred steps are taken in a turn of the loop.
_SEARCHED_IN_STEP = 20


class OffsetDeletions:
    """Makes the tombstones."""

    def __init__(self, config: GroupConfig, groups: GroupStore, offsets: OffsetStore) -> None:
        self._config = config
        self._groups = groups
        self._offsets = offsets
        self._round: Iterator[Group] | None = None
        self._prepared: Preparation[list[KeyValue]] = Preparation()

    def delete(self, call: Call[OffsetDeleteRequest]) -> GroupOutcome:
        request = call.request
        if not request.group_id:
            raise KafkaError(ErrorCode.INVALID_GROUP_ID)
        group = self._groups.require(request.group_id)
        group.validate_offset_delete()
        outcome: GroupOutcome = Outcome()
        response = OffsetDeleteResponse()
        for topic in request.topics:
            is_subscribed = group.is_subscribed_to(topic.name)
            error = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if is_subscribed else ErrorCode.NONE
            answer = OffsetDeleteResponseTopic(name=topic.name)
            response.topics.append(answer)
            for partition in topic.partitions:
                place = (group.group_id, topic.name, partition.partition_index)
                answer.partitions.append(
                    OffsetDeleteResponsePartition(
                        partition_index=partition.partition_index, error_code=int(error)
                    )
                )
                if not is_subscribed and self._exists(*place):
                    outcome.records.append(tombstone(*place))
        self._groups.activity.offset_deletions += len(outcome.records)
        outcome.replies.append((call.token, response))
        return outcome

    def all_of(self, group_id: str) -> list[KeyValue]:
        """The tombstones of everything that a group has committed or is about to."""
        places = {
            (topic, partition): None
            for topic, partitions in self._offsets.of_group(group_id).items()
            for partition in partitions
        }
        places.update(dict.fromkeys(self._offsets.pending_places(group_id)))
        return [tombstone(group_id, topic, partition) for topic, partition in places]

    def of_topics(self, deleted: Collection[TopicView]) -> GroupOutcome:
        """The topics are gone, and what was committed for them with them."""
        ids = {topic.name: topic.topic_id for topic in deleted}
        tombstones = self._prepared.require(
            ids, lambda: self._gone(ids), is_large=self._offsets.group_count > _SEARCHED_AT_ONCE
        )
        return Outcome(is_atomic=False, records=tombstones)

    def _gone(self, ids: dict[str, bytes]) -> Steps[list[KeyValue]]:
        """The tombstones of what was committed for topics with these names and ids."""
        places: set[OffsetPlace] = set()
        tombstones: list[KeyValue] = []
        looked_at = 0
        for found in self._offsets.of_topics(ids.keys()):
            for place, committed in found:
                if place not in places and committed.topic_id in (ZERO_UUID, ids[place[1]]):
                    places.add(place)
                    tombstones.append(tombstone(*place))
            looked_at += 1 + len(found)
            if looked_at >= _SEARCHED_IN_STEP:
                looked_at = 0
                yield
        return tombstones

    def first_check(self, now_ms: int) -> SetTimer:
        return SetTimer(
            str(TimerName(EXPIRY_TIMER)), now_ms + self._config.offsets_retention_check_interval_ms
        )

    def expire(self, name: TimerName, now_ms: int) -> GroupOutcome:
        """Look for offsets, and for empty groups without any, that nobody needs any more."""
        outcome: GroupOutcome = Outcome(is_atomic=False)
        if self._round is None:
            self._round = iter(list(self._groups))
        looked_at = 0
        for group in islice(self._round, _GROUPS_AT_ONCE):
            looked_at += 1
            if self._groups.get(group.group_id) is group:
                self._expire_group(group, now_ms, outcome)
        if looked_at == _GROUPS_AT_ONCE:
            outcome.timers.append(SetTimer(str(name), now_ms))
        else:
            self._round = None
            outcome.timers.append(self.first_check(now_ms))
        outcome.if_failed = lambda _, failed_ms: Outcome(timers=[self.first_check(failed_ms)])
        return outcome

    def _expire_group(self, group: Group, now_ms: int, outcome: GroupOutcome) -> None:
        """Tombstones for a group's old offsets, and for the group if nothing is left of it."""
        group_id = group.group_id
        is_bare = not self._offsets.pending_places(group_id)
        for topic, partitions in self._offsets.of_group(group_id).items():
            if group.is_subscribed_to(topic):
                is_bare = False
                continue
            for partition, committed in partitions.items():
                if self._offsets.is_pending(group_id, topic, partition) or not self._is_expired(
                    group, committed, now_ms
                ):
                    is_bare = False
                else:
                    outcome.records.append(tombstone(group_id, topic, partition))
                    self._groups.activity.offset_expirations += 1
        if is_bare and group.is_empty:
            outcome.records += group.tombstones()

    def _is_expired(self, group: Group, committed: CommittedOffset, now_ms: int) -> bool:
        base_ms = group.retention_base_ms(committed.commit_timestamp_ms)
        if base_ms is None:
            return False
        if committed.expire_timestamp_ms >= 0:
            return now_ms >= committed.expire_timestamp_ms
        return now_ms - base_ms >= self._config.offsets_retention_ms

    def _exists(self, group_id: str, topic: str, partition: int) -> bool:
        return self._offsets.get(
            group_id, topic, partition
        ) is not None or self._offsets.is_pending(group_id, topic, partition)


def tombstone(group_id: str, topic: str, partition: int) -> KeyValue:
    return OffsetCommitKey(group=group_id, topic=topic, partition=partition), None
