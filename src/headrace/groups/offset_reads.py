"""OffsetFetch: what a group has committed, partition by partition or all of it."""

from __future__ import annotations

from typing import NamedTuple

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.uuids import ZERO_UUID
from headrace.groups.call import Call, GroupOutcome
from headrace.groups.group_store import GroupStore
from headrace.groups.offset_store import CommittedOffset, OffsetStore
from headrace.protocol.messages.offset_fetch import (
    OffsetFetchRequestGroup,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)

NO_OFFSET = -1


class FetchOffsets(NamedTuple):
    """One group of an OffsetFetch request; its reply is an `OffsetFetchResponseGroup`.

    Topics have their names, whatever the version; no topics means all of them.
    """

    group: OffsetFetchRequestGroup
    require_stable: bool

    @property
    def group_id(self) -> str:
        return self.group.group_id


class OffsetReads:
    """Reads the store on behalf of members and administrators."""

    def __init__(self, groups: GroupStore, offsets: OffsetStore) -> None:
        self._groups = groups
        self._offsets = offsets

    def fetch(self, call: Call[FetchOffsets]) -> GroupOutcome:
        asked = call.request.group
        answer = OffsetFetchResponseGroup(group_id=asked.group_id)
        is_known = self._validate(asked)
        if asked.topics is not None:
            for topic in asked.topics:
                found = OffsetFetchResponseTopics(name=topic.name, topic_id=topic.topic_id)
                answer.topics.append(found)
                for partition in topic.partition_indexes:
                    found.partitions.append(
                        self._one(call.request, topic.name, topic.topic_id, partition, is_known)
                    )
        elif is_known:
            for name, partitions in self._offsets.of_group(asked.group_id).items():
                found = OffsetFetchResponseTopics(name=name)
                answer.topics.append(found)
                for partition in partitions:
                    found.partitions.append(
                        self._one(call.request, name, ZERO_UUID, partition, is_known)
                    )
        return call.answer(answer)

    def _validate(self, asked: OffsetFetchRequestGroup) -> bool:
        """Whether there is such a group; nobody who may not read it gets past here."""
        group = self._groups.get(asked.group_id)
        if group is None:
            return False
        try:
            group.validate_offset_fetch(asked.member_id, asked.member_epoch)
        except KafkaError as error:
            if error.code is not ErrorCode.GROUP_ID_NOT_FOUND:
                raise
            return False
        return True

    def _one(
        self, asked: FetchOffsets, topic: str, topic_id: bytes, partition: int, is_known: bool
    ) -> OffsetFetchResponsePartitions:
        group_id = asked.group_id
        if asked.require_stable and self._offsets.is_pending(group_id, topic, partition):
            return _absent(partition, ErrorCode.UNSTABLE_OFFSET_COMMIT)
        committed = self._offsets.get(group_id, topic, partition) if is_known else None
        if committed is None or _is_of_another_topic(committed, topic_id):
            return _absent(partition, ErrorCode.NONE)
        return OffsetFetchResponsePartitions(
            partition_index=partition,
            committed_offset=committed.offset,
            committed_leader_epoch=committed.leader_epoch,
            metadata=committed.metadata,
        )


def _absent(partition: int, error: ErrorCode) -> OffsetFetchResponsePartitions:
    return OffsetFetchResponsePartitions(
        partition_index=partition,
        committed_offset=NO_OFFSET,
        metadata="",
        error_code=int(error),
    )


def _is_of_another_topic(committed: CommittedOffset, topic_id: bytes) -> bool:
    """Whether the offset belongs to an earlier topic of the same name."""
    return ZERO_UUID not in (committed.topic_id, topic_id) and committed.topic_id != topic_id
