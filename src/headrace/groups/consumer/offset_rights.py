"""Who may commit and read the offsets of a consumer group: members in their right epoch."""

from __future__ import annotations

from headrace.base.errors import ErrorCode, KafkaError
from headrace.groups.consumer.member import Member
from headrace.groups.group import PartitionCheck

#: Since this version OffsetCommit carries a member epoch.
_COMMITS_WITH_EPOCH = 9


def commit_check(
    member: Member, epoch: int, *, is_transactional: bool, api_version: int
) -> PartitionCheck | None:
    """Raise `KafkaError`, or give the check for each partition if the epoch is an older one."""
    speaks_new_protocol = not member.uses_classic_protocol
    if not is_transactional and speaks_new_protocol and api_version < _COMMITS_WITH_EPOCH:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_VERSION,
            "OffsetCommit version 9 or above must be used by members using the consumer group"
            " protocol",
        )
    if epoch == member.member_epoch:
        return None
    if epoch > member.member_epoch:
        raise _stale(
            member,
            f"Received {_epoch_word(member)} {epoch} is newer than current member epoch"
            f" {member.member_epoch}.",
        )
    return _OwnedSince(member, epoch)


def check_fetch(member: Member, epoch: int) -> None:
    if epoch != member.member_epoch:
        raise _stale(
            member,
            f"The received {_epoch_word(member)} {epoch} does not match the expected member epoch"
            f" {member.member_epoch}.",
        )


class _OwnedSince:
    """A commit with an older epoch is fine for what the member has owned since then (KIP-1251)."""

    __slots__ = ("_epoch", "_member")

    def __init__(self, member: Member, epoch: int) -> None:
        self._member = member
        self._epoch = epoch

    def __call__(self, topic: str, topic_id: bytes, partition: int) -> None:
        since = self._member.assignment_epoch(topic_id, partition)
        if since is None:
            raise _stale(
                self._member,
                f"Partition {topic}-{partition} is not assigned or pending revocation for member.",
            )
        if self._epoch < since:
            raise _stale(
                self._member,
                f"Received {_epoch_word(self._member)} {self._epoch} is older than assignment"
                f" epoch {since} for partition {topic}-{partition}.",
            )


def _stale(member: Member, message: str) -> KafkaError:
    if member.uses_classic_protocol:
        return KafkaError(ErrorCode.ILLEGAL_GENERATION, message)
    return KafkaError(ErrorCode.STALE_MEMBER_EPOCH, message)


def _epoch_word(member: Member) -> str:
    return "generation id" if member.uses_classic_protocol else "member epoch"
