"""Members of a classic group that behave like clients: they join, sync, beat, commit, and fail."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from headrace.base.errors import ErrorCode, KafkaError
from headrace.groups.offset_reads import FetchOffsets
from headrace.groups.records import GroupMetadataKey, OffsetCommitKey
from headrace.protocol.messages.heartbeat import HeartbeatRequest
from headrace.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from headrace.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from headrace.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from headrace.protocol.messages.offset_fetch import (
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from headrace.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from tests.unit.groups.world import World

PARTITIONS = 6
GROUP = "g"
#: After these a member has no id any more.
_LOST_ID = {ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID}


class Referee:
    """Notes who owned what in which generation, and which commits were stored."""

    def __init__(self) -> None:
        self.owners: dict[tuple[int, int], str] = {}
        self.committed: dict[int, int] = {}
        self.generation = 0

    def assigned(self, owner: str, generation: int, assignment: bytes) -> list[int]:
        """A member took its assignment, which says for which generation it was made."""
        if not assignment:
            return []
        assert assignment[0] == generation % 256, "an assignment of another generation"
        for partition in assignment[1:]:
            known = self.owners.setdefault((generation, partition), owner)
            assert known == owner, f"{partition} has two owners in generation {generation}"
        return list(assignment[1:])

    def stored(self, key: Any, value: Any) -> None:
        """A record is safe: generations and commits never go back, and only owners commit."""
        if value is None:
            return
        if isinstance(key, OffsetCommitKey):
            owner, generation = value.metadata.split("/")
            assert int(generation) == self.generation, "a commit of another generation"
            assert self.owners[self.generation, key.partition] == owner
            before = self.committed.get(key.partition, 0)
            assert value.offset >= before, f"{key.partition} goes back from {before}"
            self.committed[key.partition] = value.offset
        elif isinstance(key, GroupMetadataKey):
            assert value.generation >= self.generation
            self.generation = value.generation
            given = [member.assignment for member in value.members if member.assignment]
            assert all(one[0] == value.generation % 256 for one in given)
            held = [partition for one in given for partition in one[1:]]
            assert len(held) == len(set(held)), "a partition is assigned twice"


class RandomMember:
    """One client; `step` does the next thing that it could do now."""

    def __init__(
        self, name: str, world: World, chance: random.Random, referee: Referee, instance: bool
    ) -> None:
        self.name = name
        self.instance_id = name if instance else None
        self.is_alive = True
        self.is_busy = False
        self.is_rough = True
        self.generation = -1
        self.partitions: list[int] | None = None
        #: How far it has read, from where the group was when it got the partition.
        self.positions: dict[int, int] = {}
        self.member_id = ""
        self._world = world
        self._chance = chance
        self._referee = referee
        #: Answers for an earlier life do not count.
        self._life = 0
        #: A connection keeps the order of what is sent through it.
        self._last_arrival_ms = 0

    def step(self) -> None:
        if self.is_busy or not self.is_alive:
            return
        if self.partitions is None:
            self._join()
        elif self.partitions and self._chance.random() < 0.4:
            self._commit(self._chance.choice(self.partitions))
        else:
            self._beat()

    def crash(self) -> None:
        """Gone without a word; static members forget their member id, and so do others."""
        self.is_alive = False
        self._forget()

    def come_back(self) -> None:
        self.is_alive = True

    def leave(self) -> None:
        identity = MemberIdentity(member_id=self.member_id)
        self._world.ask(LeaveGroupRequest(group_id=GROUP, members=[identity]), lambda reply: None)
        self.is_alive = False
        self._forget()

    def _forget(self) -> None:
        self._life += 1
        self._last_arrival_ms = 0
        self.is_busy = False
        self.member_id, self.generation, self.partitions = "", -1, None

    def _ask(self, request: Any, answer: Callable[[Any], None]) -> None:
        """Send a request; it takes its time, and so does the answer, and either may be lost."""
        life = self._life
        self.is_busy = True

        def answered(reply: Any) -> None:
            if life != self._life:
                return
            self.is_busy = False
            if isinstance(reply, KafkaError):
                self._refused(reply.code)
            elif getattr(reply, "error_code", 0) not in (0, ErrorCode.MEMBER_ID_REQUIRED):
                self._refused(ErrorCode(reply.error_code))
            else:
                answer(reply)

        def arrived() -> None:
            self._world.ask(
                request,
                lambda reply: self._world.later(self._delay(), lambda: answered(reply)),
                client=self.name,
            )

        self._send(arrived)

    def _send(self, arrived: Callable[[], None]) -> None:
        """It takes its time, and never overtakes what was sent before."""
        now_ms = self._world.now_ms
        self._last_arrival_ms = max(self._last_arrival_ms, now_ms + self._delay())
        self._world.later(self._last_arrival_ms - now_ms, arrived)

    def _delay(self) -> int:
        return self._chance.choice((0, 1, 5, 50, 2_000)) if self.is_rough else 1

    def _refused(self, error: ErrorCode) -> None:
        if error in _LOST_ID:
            self.member_id = ""
        if error is not ErrorCode.COORDINATOR_NOT_AVAILABLE or self.partitions is None:
            self.partitions = None

    def _join(self) -> None:
        request = JoinGroupRequest(
            group_id=GROUP,
            session_timeout_ms=6_000,
            rebalance_timeout_ms=8_000,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
        )
        self._ask(request, self._joined)

    def _joined(self, reply: Any) -> None:
        self.member_id = reply.member_id
        if reply.error_code:
            return  # the id is for the next attempt
        self.generation = reply.generation_id
        shares: dict[str, list[int]] = {one.member_id: [] for one in reply.members}
        for partition in range(PARTITIONS if shares else 0):
            shares[list(shares)[partition % len(shares)]].append(partition)
        given = [] if reply.skip_assignment else list(shares.items())
        request = SyncGroupRequest(
            group_id=GROUP,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            assignments=[
                SyncGroupRequestAssignment(
                    member_id=member, assignment=bytes([self.generation % 256, *share])
                )
                for member, share in given
            ],
        )
        self._ask(request, self._synced)

    def _synced(self, reply: Any) -> None:
        owner = self.instance_id or self.member_id
        given = self._referee.assigned(owner, self.generation, reply.assignment)
        asked = OffsetFetchRequestGroup(
            group_id=GROUP, topics=[OffsetFetchRequestTopics(name="t", partition_indexes=given)]
        )
        self._ask(FetchOffsets(asked, True), self._begin)

    def _begin(self, reply: Any) -> None:
        """Read on from where the group was."""
        found = reply.topics[0].partitions
        self.positions = {one.partition_index: max(one.committed_offset, 0) for one in found}
        self.partitions = list(self.positions)

    def _beat(self) -> None:
        request = HeartbeatRequest(
            group_id=GROUP,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
        )
        self._ask(request, lambda reply: None)

    def _commit(self, partition: int) -> None:
        """Commit how far it has read, which may be no farther than the last time."""
        self.positions[partition] += self._chance.randint(0, 3)
        place = OffsetCommitRequestPartition(
            partition_index=partition,
            committed_offset=self.positions[partition],
            committed_metadata=f"{self.instance_id or self.member_id}/{self.generation}",
        )
        request = OffsetCommitRequest(
            group_id=GROUP,
            generation_id_or_member_epoch=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            topics=[OffsetCommitRequestTopic(name="t", partitions=[place])],
        )
        # Nobody waits for a commit: it may arrive when much else has happened.
        self._send(lambda: self._world.ask(request, lambda reply: None, client=self.name))
