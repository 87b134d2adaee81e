"""OffsetCommit and TxnOffsetCommit: checks, and the records that store the offsets."""

from __future__ import annotations

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.outcome import CancelTimer, Outcome, SetTimer
from headrace.base.uuids import ZERO_UUID
from headrace.groups.call import Call, GroupOutcome
from headrace.groups.config import GroupConfig
from headrace.groups.group import KeyValue, PartitionCheck
from headrace.groups.group_store import GroupStore
from headrace.groups.records import OffsetCommitKey, OffsetCommitValue
from headrace.groups.repeated_commit import RepeatedCommit
from headrace.groups.topics import Topics
from headrace.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from headrace.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

#: Since this version a commit to a group that does not exist says so.
_TELLS_UNKNOWN_GROUPS = 9
_DEFAULT_RETENTION = -1
#: What a member of a consumer group would hear; a producer knows generations only.
_STALE = (ErrorCode.STALE_MEMBER_EPOCH,)


class OffsetCommits:
    """Checks commits against the groups; the offsets themselves change when records are applied."""

    def __init__(self, config: GroupConfig, groups: GroupStore, topics: Topics) -> None:
        self._config = config
        self._groups = groups
        self._topics = topics

    def commit(self, call: Call[OffsetCommitRequest]) -> GroupOutcome:
        request, now_ms = call.request, call.now_ms
        timers: list[SetTimer | CancelTimer] = []
        check = self._validate(request, call.client.api_version, now_ms, timers)
        expire_ms = _expiry(request, now_ms)
        records: list[KeyValue] = []
        topics = []
        for topic in request.topics:
            name, topic_id = topic.name, topic.topic_id
            answers = []
            for partition in topic.partitions:
                index, metadata = partition.partition_index, partition.committed_metadata
                error = self._refusal(metadata) if metadata else 0
                if not error:
                    if check is not None:
                        check(name, topic_id, index)
                    key = OffsetCommitKey(group=request.group_id, topic=name, partition=index)
                    records.append((key, _value(partition, now_ms, expire_ms, topic_id)))
                answers.append(
                    OffsetCommitResponsePartition(partition_index=index, error_code=error)
                )
            topics.append(
                OffsetCommitResponseTopic(name=name, topic_id=topic_id, partitions=answers)
            )
        self._groups.activity.offset_commits += len(records)
        replies = [(call.token, OffsetCommitResponse(topics=topics))]
        return Outcome(records=records, replies=replies, timers=timers)

    def commit_again(self, call: Call[RepeatedCommit]) -> GroupOutcome:
        """The same for a commit that is repeated."""
        repeated, now_ms = call.request, call.now_ms
        request = repeated.request
        timers: list[SetTimer | CancelTimer] = []
        check = self._validate(request, call.client.api_version, now_ms, timers)
        expire_ms = _expiry(request, now_ms)
        records: list[KeyValue] = []
        for key, topic_id, partition in repeated.parts:
            metadata = partition.committed_metadata
            if metadata and self._refusal(metadata):
                return self.commit(Call(call.token, request, call.client, now_ms))
            if check is not None:
                check(key.topic, topic_id, key.partition)
            records.append((key, _value(partition, now_ms, expire_ms, topic_id)))
        self._groups.activity.offset_commits += len(records)
        return Outcome(records=records, replies=[(call.token, None)], timers=timers)

    def commit_in_transaction(self, call: Call[TxnOffsetCommitRequest]) -> GroupOutcome:
        request = call.request
        if not request.group_id:
            raise KafkaError(ErrorCode.INVALID_GROUP_ID)
        outcome: GroupOutcome = Outcome(producer=(request.producer_id, request.producer_epoch))
        check = self._validate_in_transaction(call)
        response = TxnOffsetCommitResponse()
        for topic in request.topics:
            answer = TxnOffsetCommitResponseTopic(name=topic.name)
            response.topics.append(answer)
            view = self._topics.named(topic.name)
            topic_id = ZERO_UUID if view is None else view.topic_id
            if view is None and check is not None:
                raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
            for partition in topic.partitions:
                index = partition.partition_index
                error = self._refusal(partition.committed_metadata)
                if not error:
                    if check is not None:
                        _checked(check, topic.name, topic_id, index)
                    key = OffsetCommitKey(group=request.group_id, topic=topic.name, partition=index)
                    value = _value(partition, call.now_ms, -1, ZERO_UUID)
                    outcome.records.append((key, value))
                answer.partitions.append(
                    TxnOffsetCommitResponsePartition(partition_index=index, error_code=error)
                )
        self._groups.activity.offset_commits += len(outcome.records)
        outcome.replies.append((call.token, response))
        return outcome

    def _validate(
        self,
        request: OffsetCommitRequest,
        api_version: int,
        now_ms: int,
        timers: list[SetTimer | CancelTimer],
    ) -> PartitionCheck | None:
        epoch = request.generation_id_or_member_epoch
        group = self._groups.get(request.group_id)
        if group is None:
            if epoch < 0:
                # An administrator, or a consumer that assigns itself: applying the record makes
                # a group without members, which Kafka calls simple.
                return None
            if api_version >= _TELLS_UNKNOWN_GROUPS:
                self._groups.require(request.group_id)
            raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
        check = group.validate_offset_commit(
            request.member_id,
            request.group_instance_id,
            epoch,
            is_transactional=False,
            api_version=api_version,
        )
        if request.member_id:
            timer = group.keep_alive(request.member_id, now_ms)
            if timer is not None:
                timers.append(timer)
        return check

    def _validate_in_transaction(self, call: Call[TxnOffsetCommitRequest]) -> PartitionCheck | None:
        request = call.request
        group = self._groups.get(request.group_id)
        if group is None:
            if request.generation_id < 0:
                return None
            raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
        try:
            return group.validate_offset_commit(
                request.member_id,
                request.group_instance_id,
                request.generation_id,
                is_transactional=True,
                api_version=call.client.api_version,
            )
        except KafkaError as error:
            raise _for_producer(error) from error

    def _refusal(self, metadata: str | None) -> int:
        """The error of one partition's commit, or 0."""
        if metadata and _java_length(metadata) > self._config.offset_metadata_max:
            return int(ErrorCode.OFFSET_METADATA_TOO_LARGE)
        return 0


def _checked(check: PartitionCheck, topic: str, topic_id: bytes, partition: int) -> None:
    try:
        check(topic, topic_id, partition)
    except KafkaError as error:
        raise _for_producer(error) from error


def _for_producer(error: KafkaError) -> KafkaError:
    return KafkaError(ErrorCode.ILLEGAL_GENERATION) if error.code in _STALE else error


def _expiry(request: OffsetCommitRequest, now_ms: int) -> int:
    """When the offsets expire, for clients that say so themselves."""
    retention_ms = request.retention_time_ms
    return -1 if retention_ms == _DEFAULT_RETENTION else now_ms + retention_ms


def _value(
    partition: OffsetCommitRequestPartition | TxnOffsetCommitRequestPartition,
    now_ms: int,
    expire_ms: int,
    topic_id: bytes,
) -> OffsetCommitValue:
    return OffsetCommitValue(
        offset=partition.committed_offset,
        leader_epoch=partition.committed_leader_epoch,
        metadata=partition.committed_metadata or "",
        commit_timestamp=now_ms,
        expire_timestamp=expire_ms,
        topic_id=topic_id,
    )


def _java_length(text: str) -> int:
    """UTF-16 units, which is what Kafka counts."""
    return len(text) if text.isascii() else len(text.encode("utf-16-be")) // 2
