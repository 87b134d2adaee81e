"""The logs of a node by partition, the directories they lie in, and what a bad disk takes away."""

import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from headrace.base.errors import ErrorCode, KafkaError
from headrace.log.checkpoint_rounds import CheckpointRound
from headrace.log.checkpoints import (
    CLEANER_CHECKPOINT,
    LOG_START_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    TopicPartition,
)
from headrace.log.cleaner.job import CleanJob, CleanResult
from headrace.log.cleaner.schedule import CleanerSchedule
from headrace.log.config import LogConfig
from headrace.log.directories import DataDirectory, DataDirectoryError
from headrace.log.errors import PASSING, LogDirFailure
from headrace.log.loading import PRODUCER_EXPIRATION_MS
from headrace.log.open_files import OpenFiles
from headrace.log.partition_log import PartitionLog
from headrace.log.retention import Deletion

Deletions = list[tuple[PartitionLog, Deletion]]

_LOAD_MIN = 0.01


@dataclass(frozen=True, slots=True)
class LogManagerConfig:
    """The node's settings for its logs; defaults are Kafka's."""

    producer_expiration_ms: int = PRODUCER_EXPIRATION_MS
    file_delete_delay_ms: int = 60_000
    cleaner_dedupe_buffer_size: int = 134_217_728
    cleaner_dedupe_buffer_load_factor: float = 0.9
    cleaner_io_max_bytes_per_second: float = sys.float_info.max

    @property
    def cleaner_map_bytes(self) -> int:
        """Memory for the keys of one round: as much of the buffer as may be filled.

        The load factor may be any number. More than the buffer is not there, and with nearly
        nothing of it each round would write a log anew for the sake of one key.
        """
        load = min(max(_LOAD_MIN, self.cleaner_dedupe_buffer_load_factor), 1.0)
        return int(self.cleaner_dedupe_buffer_size * load)


class LogRegistry:
    """What the log manager knows."""

    def __init__(
        self,
        directories: list[DataDirectory],
        *,
        config_for: Callable[[str], LogConfig],
        files: OpenFiles,
        config: LogManagerConfig | None = None,
    ) -> None:
        self.directories = directories
        self.config = config if config is not None else LogManagerConfig()
        self.files = files
        self.logs: dict[TopicPartition, PartitionLog] = {}
        self._by_topic: dict[str, dict[int, PartitionLog]] = {}
        #: Partitions that exist but cannot be used, and why.
        self.unavailable: dict[TopicPartition, str] = {}
        #: Told of the partitions that a failed directory took along.
        self.on_lost: list[Callable[[list[TopicPartition]], None]] = []
        #: Told of each directory that goes offline, and how many partitions go with it.
        self.on_offline: list[Callable[[DataDirectory, int], None]] = []
        #: Told what retention deleted in a pass over all logs.
        self.on_deleted: list[Callable[[Deletions], None]] = []
        #: Told of each round of compaction that was swapped in, and how many ms it took.
        self.on_compacted: list[Callable[[CleanJob, CleanResult, int], None]] = []
        #: Directories that get no new partitions (`cordoned.log.dirs`).
        self.cordoned: frozenset[str] = frozenset()
        self.cleaning = CleanerSchedule()
        #: Directories of deleted partitions, and when they may go.
        self.deleting: list[tuple[int, str]] = []
        self._config_for = config_for
        self._by_path = {directory.path: directory for directory in directories}
        self._counts = dict.fromkeys(self._by_path, 0)
        #: Directories in which every partition was loaded, so that a clean stop can be vouched for.
        self.complete: set[str] = set()

    @property
    def online(self) -> list[DataDirectory]:
        return [directory for directory in self.directories if directory.online]

    def get(self, topic: str, partition: int) -> PartitionLog | None:
        """The log of a partition, if it is here and usable."""
        return self.logs.get((topic, partition))

    def directory_of(self, log: PartitionLog) -> DataDirectory:
        return self._by_path[os.path.dirname(log.directory)]

    def logs_in(self, directory: DataDirectory) -> dict[TopicPartition, PartitionLog]:
        if len(self.directories) == 1:
            return self.logs
        return {key: log for key, log in self.logs.items() if self.directory_of(log) is directory}

    def require_available(self, topic: str, partition: int) -> None:
        """KAFKA_STORAGE_ERROR if the partition is here but lies on a disk that failed."""
        reason = self.unavailable.get((topic, partition))
        if reason is not None:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, reason)

    def _add(self, key: TopicPartition, log: PartitionLog) -> None:
        self.logs[key] = log
        self._by_topic.setdefault(key[0], {})[key[1]] = log
        self._counts[self.directory_of(log).path] += 1

    def _drop(self, key: TopicPartition) -> None:
        log = self.logs.pop(key)
        siblings = self._by_topic[key[0]]
        del siblings[key[1]]
        if not siblings:
            del self._by_topic[key[0]]
        self._counts[self.directory_of(log).path] -= 1

    # Checkpoints

    def checkpoint_round(self, directories: Iterable[DataDirectory]) -> CheckpointRound:
        """Recovery points, log starts and cleaner offsets of directories, to be written."""
        written = CheckpointRound()
        for directory in directories:
            logs = self.logs_in(directory)
            written.add(
                directory,
                RECOVERY_POINT_CHECKPOINT,
                {key: log.recovery_point for key, log in logs.items()},
            )
            written.add(
                directory,
                LOG_START_CHECKPOINT,
                # Where a log begins with its first segment, the segment says so.
                {
                    key: log.log_start_offset
                    for key, log in logs.items()
                    if log.log_start_offset > log.segments[0].base_offset
                },
            )
            self.add_cleaner_offsets(written, directory)
        return written

    def add_cleaner_offsets(self, written: CheckpointRound, directory: DataDirectory) -> None:
        offsets, logs = self.cleaning.offsets, self.logs_in(directory)
        written.add(
            directory, CLEANER_CHECKPOINT, {key: offsets[key] for key in logs if key in offsets}
        )

    def finish_checkpoints(self, written: CheckpointRound) -> list[TopicPartition]:
        """Take directories offline that could not be written to; the partitions lost with them."""
        lost: list[TopicPartition] = []
        for directory, code, reason in written.failures:
            if code not in PASSING:
                lost += self.fail_directory(directory, reason)
        return lost

    # Failures

    def handle_failure(self, failure: LogDirFailure) -> list[TopicPartition]:
        """A log met a bad disk: its directory goes offline. The partitions that are lost with it.

        A full disk, or too few descriptors, cost nothing but the operation that failed, unless
        the log refuses all work since: nobody would hear of that while its directory is online.
        """
        directory = self._by_path.get(failure.data_directory)
        if directory is None or failure.passes:
            return []
        return self.fail_directory(directory, failure.message)

    def fail_directory(self, directory: DataDirectory, reason: str) -> list[TopicPartition]:
        """Take a directory offline. Whoever calls stops the node if none is left `online`."""
        if not directory.online:
            return []
        lost = list(self.logs_in(directory))
        for key in lost:
            log = self.logs[key]
            self._drop(key)
            self.cleaning.abort(key)
            self.unavailable[key] = reason
            log.close(clean=False)
        directory.fail(reason)
        for tell in self.on_offline:
            tell(directory, len(lost))
        for listener in self.on_lost:
            listener(lost)
        return lost

    def _require_a_directory(self) -> None:
        if not self.online:
            reasons = "; ".join(str(directory.failure) for directory in self.directories)
            raise DataDirectoryError(f"None of the data directories can be used: {reasons}.")
