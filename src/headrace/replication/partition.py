"""One partition as its replicas see it: leadership, epochs, high watermark, in-sync replicas.

Pure rules over a log: no clock, no socket. With one replica the high watermark follows the log
end at once; with more it follows the slowest in-sync replica (see `advance_high_watermark`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from headrace.base.errors import ErrorCode, KafkaError
from headrace.log.append import AppendOrigin, AppendResult
from headrace.log.partition_log import PartitionLog
from headrace.records.batch import CONTROL_FLAG, BatchHeader

READ_UNCOMMITTED = 0
READ_COMMITTED = 1
NO_EPOCH = -1
#: More than any reader waits for, so that each looks again.
_ANY_SIZE = 1 << 31


@dataclass(frozen=True, slots=True)
class Leadership:
    """What the metadata says about a partition, as far as its replicas act on it."""

    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    partition_epoch: int


_UNKNOWN = Leadership(-1, NO_EPOCH, (), (), NO_EPOCH)
#: Raises KafkaError if the disk refuses.
MakeLog: TypeAlias = "Callable[[Partition], PartitionLog]"


class Partition:
    """A replica of one partition on this node.

    Its log may come later: `MakeLog` in place of a log is called when the log is first used, so
    that thousands of new partitions are known at once though their files take a while.
    """

    __slots__ = (
        "_make_log",
        "_node_id",
        "_replica_ends",
        "data_waiters",
        "high_watermark",
        "index",
        "is_leader",
        "leadership",
        "log",
        "newest",
        "replication_waiters",
        "topic",
        "topic_id",
    )

    log: PartitionLog

    def __init__(
        self, topic: str, index: int, topic_id: bytes, log: PartitionLog | MakeLog, node_id: int
    ):
        self.topic = topic
        self.index = index
        self.topic_id = topic_id
        self.high_watermark = 0
        self._make_log: MakeLog | None = None
        if isinstance(log, PartitionLog):
            self.log = log
            self.high_watermark = log.log_start_offset
        else:
            self._make_log = log
        self.leadership = _UNKNOWN
        #: Whether this node leads it; follows from the leadership.
        self.is_leader = False
        self._node_id = node_id
        self._replica_ends: dict[int, int] = {}
        #: The batch that readers are being told of, which they need not read from the file: its
        #: first offset, the one behind it, and its bytes, which are gone again afterwards.
        self.newest: tuple[int, int, memoryview] | None = None
        #: Called with the number of new readable bytes after each append.
        self.data_waiters: dict[int, Callable[[int], None]] = {}
        #: (offset, callback): called once the high watermark has reached the offset.
        self.replication_waiters: list[tuple[int, Callable[[], None]]] = []

    if not TYPE_CHECKING:  # what mypy saw here, it would take for any attribute at all

        def __getattr__(self, name: str) -> PartitionLog:
            # Python comes here only while the slot is empty, so a log that is there costs nothing.
            if name != "log":
                raise AttributeError(name)
            self.make_log()
            return self.log

    @property
    def has_log(self) -> bool:
        return self._make_log is None

    def make_log(self) -> None:
        """Make the log now, if it is not there; raises KafkaError if the disk refuses."""
        if self._make_log is not None:
            self.log = self._make_log(self)
            self._make_log = None
            self.high_watermark = self.log.log_start_offset
            self._take_up_leadership()

    @property
    def last_stable_offset(self) -> int:
        """No transaction below this offset is still open."""
        return self.log.last_stable_offset(self.high_watermark)

    def restore_high_watermark(self, stored: int) -> None:
        """Start from the checkpoint of the last run, as far as the log still bears it out."""
        low, high = self.log.log_start_offset, self.log.log_end_offset
        self.high_watermark = min(max(stored, low), high)

    def lead_or_follow(self, leadership: Leadership) -> None:
        """Take over a new state from the metadata; a new epoch of ours starts at the log end."""
        is_new_epoch = leadership.leader_epoch > self.leadership.leader_epoch
        self.leadership = leadership
        self.is_leader = leadership.leader == self._node_id
        if self.is_leader and is_new_epoch:
            self._replica_ends.clear()
        if self.has_log:
            self._take_up_leadership()

    def _take_up_leadership(self) -> None:
        if self.is_leader:
            # It stores the epoch with the first batch.
            self.log.start_leader_epoch(self.leadership.leader_epoch)
        self.advance_high_watermark()

    def require_leader(self, current_leader_epoch: int) -> None:
        """Refuse a client whose idea of the leader is older or newer than ours (KIP-320)."""
        leadership = self.leadership
        if leadership.leader != self._node_id:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        if current_leader_epoch == NO_EPOCH or current_leader_epoch == leadership.leader_epoch:
            return
        if current_leader_epoch < self.leadership.leader_epoch:
            raise KafkaError(ErrorCode.FENCED_LEADER_EPOCH)
        raise KafkaError(ErrorCode.UNKNOWN_LEADER_EPOCH)

    def append(
        self,
        batch: memoryview,
        header: BatchHeader,
        now_ms: int,
        origin: AppendOrigin,
        transaction_version: int = 0,
    ) -> AppendResult:
        """Append a checked batch as leader and let waiting readers know."""
        result = self.log.append_as_leader(
            batch,
            leader_epoch=self.leadership.leader_epoch,
            now_ms=now_ms,
            origin=origin,
            header=header,
            transaction_version=transaction_version,
        )
        if not result.duplicate:
            self.advance_high_watermark()
            if self.data_waiters:
                # The end of a transaction may set more free than its own few bytes.
                size = _ANY_SIZE if header.attributes & CONTROL_FLAG else len(batch)
                for waiter in tuple(self.data_waiters.values()):
                    waiter(size)
        return result

    def require_enough_replicas(self, min_insync_replicas: int) -> None:
        """What acks=all asks before the append."""
        in_sync = len(self.leadership.isr)
        if in_sync < min(min_insync_replicas, len(self.leadership.replicas)):
            raise KafkaError(
                ErrorCode.NOT_ENOUGH_REPLICAS,
                f"The size of the current ISR {in_sync} is insufficient to satisfy the min.isr"
                f" requirement of {min_insync_replicas} for partition {self.topic}-{self.index}",
            )

    def advance_high_watermark(self) -> None:
        """Move the high watermark to what every in-sync replica has; never backwards."""
        leadership = self.leadership
        if leadership.leader != self._node_id:
            return
        end = self.log.log_end_offset
        if len(leadership.isr) > 1:
            for replica in leadership.isr:
                if replica != self._node_id:
                    end = min(end, self._replica_ends.get(replica, self.high_watermark))
        if end > self.high_watermark:
            self.high_watermark = end
            if self.replication_waiters:
                self._release_replicated()

    def _release_replicated(self) -> None:
        ready = [wake for offset, wake in self.replication_waiters if offset <= self.high_watermark]
        self.replication_waiters = [
            waiter for waiter in self.replication_waiters if waiter[0] > self.high_watermark
        ]
        for wake in ready:
            wake()

    def forget_waiter(self, wake: Callable[[], None]) -> None:
        """Nobody waits for this any more."""
        self.replication_waiters = [
            waiter for waiter in self.replication_waiters if waiter[1] is not wake
        ]

    def readable_end(self, isolation_level: int) -> int:
        """Where a consumer must stop reading."""
        if isolation_level == READ_COMMITTED:
            return self.last_stable_offset
        return self.high_watermark

    def check_readable(self, offset: int) -> None:
        """An offset outside the log is an error; one at its end is not."""
        if offset < self.log.log_start_offset or offset > self.log.log_end_offset:
            raise KafkaError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"Offset {offset} of {self.topic}-{self.index} is outside"
                f" {self.log.log_start_offset} to {self.log.log_end_offset}.",
            )

    def delete_records_before(self, offset: int) -> int:
        """Move the log start; -1 stands for the high watermark."""
        target = self.high_watermark if offset == -1 else offset
        if target > self.high_watermark or target < 0:
            raise KafkaError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"Cannot delete records of {self.topic}-{self.index} up to {target}: its high"
                f" watermark is {self.high_watermark}.",
            )
        self.log.delete_records_before(target)
        return self.log.log_start_offset
