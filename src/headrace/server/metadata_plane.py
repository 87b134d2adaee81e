"""The controller on asyncio: commands in, records to the log, images out.

A command sees the state with everything written so far, durable or not; its reply leaves only when
all of that is on the disk. Whatever is submitted while the disk is busy shares the next fsync.
Brokers see the image of what is durable and nothing else.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.base.clock import Clock
from headrace.base.errors import ErrorCode, KafkaError
from headrace.log.errors import LogDirFailure
from headrace.metadata.changes import MetadataChanges
from headrace.metadata.controller.result import RECORDS_PER_OPERATION_MAX, ControllerResult
from headrace.metadata.image import MetadataImage
from headrace.metadata.record_codec import AnyRecord, encode_record
from headrace.metadata.records import NoOpRecord
from headrace.metadata.replay import Replayer
from headrace.metadata.snapshot import QuorumRecords, record_batch
from headrace.raft.machine import RaftMachine
from headrace.raft.messages import (
    AppendControlRecords,
    Effect,
    HighWatermarkAdvanced,
    LogAppended,
    LogFlushed,
    SaveElectionState,
    Started,
    StopRequested,
)
from headrace.records.control import control_batch_of
from headrace.server.metadata_flusher import Flusher
from headrace.server.metadata_idle import IdleRecords
from headrace.server.metadata_snapshots import SnapshotMaker
from headrace.server.metadata_store import LoadedMetadata, MetadataStore

logger = logging.getLogger(__name__)

#: Looks at the newest state; returns records and a reply, or raises KafkaError.
Command = Callable[[MetadataImage], ControllerResult[Any]]
#: Gets the reply, or the error, on the loop.
Done = Callable[[Any], None]
Listener = Callable[[MetadataChanges, MetadataImage], None]


@dataclass(frozen=True, slots=True)
class _Pending:
    """Something that waits for the high watermark."""

    end_offset: int
    image: MetadataImage
    changes: MetadataChanges | None
    reply: Any
    done: Done


class MetadataPlane:
    """Runs the quorum and the controller of one node."""

    def __init__(
        self,
        store: MetadataStore,
        raft: RaftMachine,
        loaded: LoadedMetadata,
        clock: Clock,
        snapshots: SnapshotMaker,
        *,
        idle_interval_ms: int = 0,
        on_failure: Callable[[BaseException], None] | None = None,
    ) -> None:
        #: What is durable: all that brokers may know.
        self.image = loaded.image
        self.raft = raft
        self.epoch = -1
        self._latest = loaded.image
        #: A metadata transaction that is open, left by a leader that died.
        self.transaction = loaded.transaction
        self._store = store
        self._clock = clock
        self.snapshots = snapshots
        self._flusher = Flusher(store, clock, flushed=self._flushed, failed=self._fail)
        self._idle = IdleRecords(
            idle_interval_ms, next_offset=lambda: self.next_offset, write=self._write_no_op
        )
        #: Told once if the disk of the metadata log fails: the node must stop.
        self.on_failure = on_failure
        self._listeners: list[Listener] = []
        self._pending: deque[_Pending] = deque()
        self._closed: BaseException | None = None
        #: Errors that ended the work on the metadata log.
        self.error_count = 0

    @property
    def high_watermark(self) -> int:
        return self.raft.high_watermark

    @property
    def log_end_offset(self) -> int:
        return self._store.log.log_end_offset

    @property
    def log_start_offset(self) -> int:
        return self._store.log.log_start_offset

    def subscribe(self, listener: Listener) -> None:
        """Have every later change told to `listener`, in order, on the loop."""
        self._listeners.append(listener)

    # The beginning, before anything is served: synchronous, one fsync for all of it

    def become_leader(self) -> None:
        """Win the election and open the new epoch; nothing is durable until `flush_now`."""
        self._carry_out(self.raft.handle(Started()))

    def write_now(self, records: Sequence[AnyRecord]) -> MetadataImage:
        """Append records before the node serves anything; returns the state with them."""
        self._write(records)
        return self._latest

    def read_bootstrap(self) -> list[AnyRecord]:
        """The records that `storage format` left for the cluster's first leader."""
        return self._store.read_bootstrap()

    @property
    def latest(self) -> MetadataImage:
        """The state with everything written so far, durable or not."""
        return self._latest

    @property
    def next_offset(self) -> int:
        """The offset that the next record gets."""
        return self._store.log.log_end_offset

    def flush_now(self) -> None:
        """Make all of it durable, here and now, and show it."""
        flush = self._store.begin_flush(self._clock.wall_ms())
        end_offset = self.log_end_offset
        flush.run()
        flush.finish()
        self._carry_out(self.raft.handle(LogFlushed(end_offset)))

    # Commands

    def submit(self, command: Command, done: Done) -> None:
        """Run a command; `done` gets its reply or a `KafkaError` once all before it is durable."""
        if self._closed is not None:
            done(KafkaError(ErrorCode.NOT_CONTROLLER, "The controller is not running."))
            return
        changes: MetadataChanges | None = None
        end_offset = self.log_end_offset
        try:
            result = command(self._latest)
            reply: Any = result.reply
            if result.records and self._flusher.refusal is not None:
                done(self._flusher.refusal)  # at once: those before it wait for room on the disk
                return
            if result.records:
                changes = self._write(result.records)
        except KafkaError as error:
            reply = error
            # A full disk that left the log as it was costs this command only.
            is_intact = self._store.log.failure is None and self.log_end_offset == end_offset
            if isinstance(error, LogDirFailure) and not is_intact:
                self._fail(error)
        if not self._pending and changes is None:
            done(reply)
            return
        self._pending.append(_Pending(self.log_end_offset, self._latest, changes, reply, done))
        self._flusher.schedule()

    async def run(self, command: Command) -> Any:
        """Like `submit`, for those who wait: returns the reply or raises the error."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        def done(reply: Any) -> None:
            if future.cancelled():
                return
            if isinstance(reply, BaseException):
                future.set_exception(reply)
            else:
                future.set_result(reply)

        self.submit(command, done)
        return await future

    def _write(self, records: Sequence[AnyRecord]) -> MetadataChanges:
        """Append records as one atomic batch (or several, beyond Kafka's limit) and apply them."""
        now_ms = self._clock.wall_ms()
        metadata_version = self._latest.metadata_version
        offset = self.log_end_offset
        replayer = Replayer(self._latest, self.transaction)
        for start in range(0, len(records), RECORDS_PER_OPERATION_MAX):
            part = records[start : start + RECORDS_PER_OPERATION_MAX]
            # Replay first: records that do not fit the state must not reach the log.
            for index, record in enumerate(part):
                replayer.replay(record, offset + index)
            values = [encode_record(record, metadata_version) for record in part]
            batch = record_batch(values, offset=offset, epoch=self.epoch, timestamp_ms=now_ms)
            self.snapshots.count_bytes(len(batch))
            self._store.append(batch, self.epoch, now_ms)
            offset += len(part)
        replayer.offset, replayer.epoch, replayer.timestamp_ms = offset - 1, self.epoch, now_ms
        self._latest, changes = replayer.apply()
        self.transaction = replayer.transaction
        self.raft.handle(LogAppended(offset))
        return changes

    # Durability

    def _flushed(self, end_offset: int) -> None:
        self._carry_out(self.raft.handle(LogFlushed(end_offset)))
        if self._pending:
            self._flusher.schedule()
        elif self._closed is None:
            self.snapshots.make_if_due(self.image, self._quorum())

    def _carry_out(self, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, SaveElectionState):
                self._store.save_election(effect.state, self.raft.kraft_version)
            elif isinstance(effect, AppendControlRecords):
                self._append_control(effect)
            elif isinstance(effect, HighWatermarkAdvanced):
                self._publish(effect.offset)

    def _append_control(self, effect: AppendControlRecords) -> None:
        self.epoch = effect.epoch
        now_ms = self._clock.wall_ms()
        batch = control_batch_of(effect.messages, timestamp=now_ms)
        self._store.append(batch, effect.epoch, now_ms)
        self.raft.handle(LogAppended(self.log_end_offset))

    def _publish(self, high_watermark: int) -> None:
        """Show what became durable, oldest first, and send the replies that waited for it."""
        pending = self._pending
        while pending and pending[0].end_offset <= high_watermark:
            entry = pending.popleft()
            if entry.changes is not None:
                self._show(entry.changes, entry.image)
            _tell(entry.done, entry.reply)
        if not pending:
            self.image = self._latest

    def _show(self, changes: MetadataChanges, image: MetadataImage) -> None:
        self.image = image
        for listener in self._listeners:
            listener(changes, image)
        if changes.brokers or changes.controllers:
            self.start_idle_records()

    def _fail(self, error: BaseException) -> None:
        """The metadata log's disk failed: nothing can be promised any more."""
        if self._closed is not None:
            return
        logger.critical("the metadata plane stops: %s", error, exc_info=error)
        self._closed = error
        self.error_count += 1
        pending, self._pending = self._pending, deque()
        for entry in pending:
            _tell(entry.done, KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, str(error)))
        if self.on_failure is not None:
            self.on_failure(error)

    def _quorum(self) -> QuorumRecords:
        return QuorumRecords(self.raft.kraft_version, self.raft.voters)

    # Idle time and the end

    def start_idle_records(self) -> None:
        """Write NoOps while nothing else is written, if there is anybody to see them."""
        self._idle.start_unless_alone(self.image, self.raft.voters.ids)

    def _write_no_op(self) -> None:
        self.submit(lambda _: ControllerResult(None, [NoOpRecord()]), lambda _: None)

    async def close(self) -> bool:
        """Finish what was submitted, then close the files as a clean stop leaves them.

        False if the disk kept it from that: the next start has to recover the log.
        """
        self._idle.stop()
        while self._pending and self._closed is None and self._flusher.refusal is None:
            self._flusher.schedule()
            await self._flusher.idle()
        self._flusher.stop_waiting()
        for entry in self._pending:
            _tell(entry.done, KafkaError(ErrorCode.NOT_CONTROLLER, "The controller stops."))
        self._pending.clear()
        await self.snapshots.close()
        failed = self._closed is not None or self._flusher.refusal is not None
        self._closed = self._closed or KafkaError(ErrorCode.NOT_CONTROLLER)
        await self._flusher.idle()
        self._carry_out(self.raft.handle(StopRequested()))
        self._store.close(clean=not failed)
        return not failed and self._store.log.failure is None


def _tell(done: Done, reply: Any) -> None:
    """Hand out a reply. Whatever its receiver makes of it concerns nobody else."""
    try:
        done(reply)
    except Exception:  # the edge of one request
        logger.exception("a reply of the controller was not taken")
