"""The logs of new and of deleted partitions: made and renamed a few at a time.

One request may create or delete thousands of partitions, and each costs some system calls. So
partitions are known at once, while their files come and go in slices between other turns of the
loop; whoever uses a partition before its turn has its log made first. A full disk leaves a
partition offline until there is room, and a deleted log under its name.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice

from headrace.base.clock import Clock
from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker.parked import Scheduler
from headrace.broker.partitions import Partitions
from headrace.log.checkpoint_rounds import CheckpointRound
from headrace.log.directories import DataDirectory
from headrace.log.errors import PASSING, LogDirFailure
from headrace.log.log_manager import LogManager
from headrace.log.partition_log import PartitionLog
from headrace.replication.partition import Partition

logger = logging.getLogger(__name__)

#: Logs made, or renamed, in one turn of the loop: about a millisecond.
_MADE_AT_ONCE = 8
_RENAMED_AT_ONCE = 32

_Key = tuple[str, int]


@dataclass(frozen=True, slots=True)
class _Unmade:
    partition: Partition
    directory_id: bytes


class ReplicaLogs:
    """Looks after the files behind `Partitions`."""

    def __init__(
        self,
        logs: LogManager,
        partitions: Partitions,
        scheduler: Scheduler,
        clock: Clock,
        write_checkpoints: Callable[[CheckpointRound], None],
    ) -> None:
        self._logs = logs
        self._partitions = partitions
        self._scheduler = scheduler
        self._clock = clock
        self._write_checkpoints = write_checkpoints
        #: Partitions that wait for their turn, in order.
        self._unmade: dict[_Key, _Unmade] = {}
        #: Partitions that the disk had no room for; clients see them offline.
        self._refused: dict[_Key, _Unmade] = {}
        #: Logs of deleted topics that are still under their names.
        self._doomed: dict[_Key, None] = {}
        #: Those of them that the disk has no room to rename, and why.
        self._kept: dict[_Key, LogDirFailure] = {}
        self._touched: list[DataDirectory] = []
        self._is_scheduled = False
        #: Told of each partition that came online after all.
        self.on_recovered: list[Callable[[Partition], None]] = []

    # Making

    def add(self, partition: Partition, directory_id: bytes, *, at_once: bool) -> None:
        """Take a partition whose `MakeLog` is `make`; it is known to clients from now on."""
        key = (partition.topic, partition.index)
        self._unmade[key] = _Unmade(partition, directory_id)
        self._partitions.add(partition)
        if at_once:
            self._make_or_refuse(key)
        else:
            self._go_on()

    def refused(self, topic: str, index: int) -> Partition | None:
        """A partition that waits for room on the disk."""
        unmade = self._refused.get((topic, index))
        return None if unmade is None else unmade.partition

    def make(self, partition: Partition) -> PartitionLog:
        """The log of a partition that was added. Raises KafkaError."""
        key = (partition.topic, partition.index)
        unmade = self._unmade.get(key) or self._refused.get(key)
        if unmade is None or unmade.partition is not partition:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if key in self._doomed or key in self._kept:
            # Its name is wanted again before its turn has come.
            self._doomed.pop(key, None)
            self._retire([key])
            self._write_touched()
            if key in self._kept:
                raise self._kept[key].with_traceback(None)
        log = self._logs.create(
            partition.topic,
            partition.index,
            topic_id=partition.topic_id,
            now_ms=self._clock.wall_ms(),
            directory_id=unmade.directory_id,
        )
        self._unmade.pop(key, None)
        return log

    def _make_or_refuse(self, key: _Key) -> None:
        unmade = self._unmade[key]
        try:
            unmade.partition.make_log()
        except KafkaError as error:
            logger.error("%s-%s is offline: %s", *key, error)
            del self._unmade[key]
            if isinstance(error, LogDirFailure) and error.errno in PASSING:
                self._refused[key] = unmade
            self._partitions.mark_offline(*key, unmade.partition.topic_id)

    def try_refused(self) -> bool:
        """Make some of the logs that the disk had no room for; True if it is worth going on."""
        for key, unmade in list(islice(self._refused.items(), _MADE_AT_ONCE)):
            try:
                unmade.partition.make_log()
            except LogDirFailure as failure:
                if failure.errno in PASSING:
                    return False
                del self._refused[key]
            except KafkaError as error:
                logger.error("%s-%s stays offline: %s", *key, error)
                del self._refused[key]
            else:
                del self._refused[key]
                logger.info("%s-%s is online: there is room for its log", *key)
                self._partitions.add(unmade.partition)
                for listener in self.on_recovered:
                    listener(unmade.partition)
        return bool(self._refused)

    # Deleting

    def delete(self, keys: Iterable[_Key], *, at_once: bool) -> None:
        """Take logs out of use whose partitions are gone already."""
        for key in keys:
            self._unmade.pop(key, None)
            self._refused.pop(key, None)
            if key in self._logs.logs:
                self._doomed[key] = None
        if at_once:
            self.finish()
        elif self._doomed:
            self._go_on()

    def finish(self) -> None:
        """Rename everything that is left, here and now."""
        while self._doomed:
            self._rename_some()

    def try_kept(self) -> bool:
        """Rename some of the logs that the disk had no room for; True if it is worth going on."""
        keys = list(islice(self._kept, _RENAMED_AT_ONCE))
        self._retire(keys)
        self._write_touched()
        return bool(self._kept) and self._kept.keys().isdisjoint(keys)

    def close(self) -> None:
        """The node stops: what is deleted is deleted, and no log is made any more.

        What the disk has no room to rename is put aside at the next start, as a stray.
        """
        self._doomed.update(dict.fromkeys(self._kept))
        self.finish()
        self._unmade.clear()
        self._refused.clear()

    def _rename_some(self) -> None:
        keys = list(islice(self._doomed, _RENAMED_AT_ONCE))
        for key in keys:
            del self._doomed[key]
        self._retire(keys)
        if not self._doomed:
            self._write_touched()

    def _retire(self, keys: list[_Key]) -> None:
        touched, refused = self._logs.retire(keys, self._clock.wall_ms())
        for directory in touched:
            if directory not in self._touched:
                self._touched.append(directory)
        new = [key for key in refused if key not in self._kept]
        if new:
            logger.error(
                "%d deleted logs stay for now, the first is that of %s-%s: %s",
                len(new),
                *new[0],
                refused[new[0]],
            )
        for key in keys:
            self._kept.pop(key, None)
        self._kept |= refused  # behind the others, which may lie on a disk with room

    def _write_touched(self) -> None:
        touched, self._touched = self._touched, []
        if touched:
            self._write_checkpoints(self._logs.checkpoint_round(touched))

    # Turns

    def _go_on(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            self._scheduler.call_soon(self._step)

    def _step(self) -> None:
        self._is_scheduled = False
        if self._doomed:
            self._rename_some()
        else:
            for key in list(islice(self._unmade, _MADE_AT_ONCE)):
                self._make_or_refuse(key)
        if self._doomed or self._unmade:
            self._go_on()
