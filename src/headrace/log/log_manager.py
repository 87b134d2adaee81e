"""All partitions on a node's disks: how they are found at a start, and how they come and go.

A log manager belongs to one thread, as its logs do. Periodic work is in `log_maintenance`.
"""

import os
from collections.abc import Callable, Mapping
from contextlib import suppress

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.uuids import DIRECTORY_LOST, DIRECTORY_UNASSIGNED, ZERO_UUID
from headrace.log.checkpoints import CheckpointError, TopicPartition
from headrace.log.config import LogConfig
from headrace.log.directories import DataDirectory, remove_directory
from headrace.log.directory_loading import LoadedDirectory, LoadSettings, load_directory
from headrace.log.directory_names import partition_directory_name
from headrace.log.errors import PASSING, LogDirFailure
from headrace.log.loading import create_log
from headrace.log.log_removal import LogRemoval
from headrace.log.partition_log import PartitionLog
from headrace.log.partition_metadata import write_topic_id
from headrace.log.recovery_tasks import RecoveryRunner, run_recoveries

_NO_DIRECTORY = frozenset({DIRECTORY_UNASSIGNED, DIRECTORY_LOST})


class LogManager(LogRemoval):
    """The logs of one node."""

    # Start

    def load(
        self,
        now_ms: int,
        recover: RecoveryRunner = run_recoveries,
        before_each: Callable[[], None] = lambda: None,
    ) -> dict[str, LoadedDirectory]:
        """Load all partitions, by data directory; one with a bad disk goes offline.

        `recover` runs the recoveries that a hard kill made necessary, and `before_each` is called
        before each log. Raises `DataDirectoryError` if no directory is left, and what those two
        raise: then nothing is loaded.
        """
        settings = LoadSettings(
            self._cached_config,
            self.files,
            now_ms,
            self.config.producer_expiration_ms,
            recover,
            before_each,
        )
        self._configs: dict[str, LogConfig] = {}
        loaded: dict[str, LoadedDirectory] = {}
        for directory in self.online:
            try:
                loaded[directory.path] = load_directory(directory, settings)
            except OSError as error:
                directory.fail(f"{error.strerror or error}: {error.filename or directory.path}")
        del self._configs
        for path, content in loaded.items():
            self._take_over(self._by_path[path], content, now_ms)
        for path, content in loaded.items():
            self._keep_checkpoints(self._by_path[path], content)
        self._require_a_directory()
        return loaded

    def _cached_config(self, topic: str) -> LogConfig:
        config = self._configs.get(topic)
        if config is None:
            config = self._configs[topic] = self._config_for(topic)
        return config

    def _take_over(self, directory: DataDirectory, content: LoadedDirectory, now_ms: int) -> None:
        self.unavailable.update(content.broken)
        for log in content.logs:
            key = (log.topic, log.partition)
            other = self.logs.get(key)
            if other is not None:
                self.unavailable[key] = (
                    f"Partition {log.topic}-{log.partition} lies in both {other.directory}"
                    f" and {log.directory}; one of them has to be removed."
                )
                continue
            self._add(key, log)
        for key in self.unavailable.keys() & self.logs.keys():
            self._drop(key)
        if content.was_clean or not content.broken:
            self.complete.add(directory.path)
        due_ms = now_ms + self.config.file_delete_delay_ms
        self.deleting += [(due_ms, path) for path in content.deleting]
        try:
            offsets = directory.cleaner_offsets.read()
        except CheckpointError as error:
            content.warnings.append(f"{error}; its logs are cleaned from their start.")
        else:
            self.cleaning.offsets.update(
                (key, offset) for key, offset in offsets.items() if key in self.logs
            )

    def _keep_checkpoints(self, directory: DataDirectory, content: LoadedDirectory) -> None:
        """A partition that is mended one day must not begin with records deleted long ago."""
        lying_here = {(log.topic, log.partition) for log in content.logs}.union(content.broken)
        unloaded = self.unavailable.keys() & lying_here
        if unloaded:
            for checkpoint in directory.checkpoints.values():
                with suppress(CheckpointError):  # loading has warned of it
                    checkpoint.keep(unloaded)

    # Partitions

    def create(
        self,
        topic: str,
        partition: int,
        *,
        topic_id: bytes,
        now_ms: int,
        directory_id: bytes = DIRECTORY_UNASSIGNED,
    ) -> PartitionLog:
        """The log of a partition, made now if it is not there.

        It goes to the assigned directory, or else to the one with the fewest partitions. A log of
        the same name that belonged to another topic id is put aside as stray. Raises KafkaError:
        a `LogDirFailure` with an errno in `PASSING` if a later try may succeed.
        """
        self.require_available(topic, partition)
        log = self.logs.get((topic, partition))
        if log is not None:
            if log.topic_id == ZERO_UUID and topic_id != ZERO_UUID:
                self._assign_topic_id(log, topic_id)
            if topic_id in (log.topic_id, ZERO_UUID):
                return log
            self.put_aside((topic, partition))
        full: LogDirFailure | None = None
        for directory in self._choices(topic, partition, directory_id):
            try:
                log = self._create_in(directory, topic, partition, topic_id, now_ms)
            except LogDirFailure as failure:
                self.handle_failure(failure)
                if failure.errno in PASSING:
                    full = failure
            else:
                self._add((topic, partition), log)
                return log
        if full is not None:
            raise full  # whoever asked may ask again
        raise KafkaError(
            ErrorCode.KAFKA_STORAGE_ERROR, f"No data directory can take {topic}-{partition}."
        )

    def _choices(self, topic: str, partition: int, directory_id: bytes) -> list[DataDirectory]:
        online = self.online
        if directory_id not in _NO_DIRECTORY:
            assigned = [directory for directory in online if directory.directory_id == directory_id]
            if assigned:
                return assigned
            if len(online) < len(self.directories):
                raise KafkaError(
                    ErrorCode.KAFKA_STORAGE_ERROR,
                    f"{topic}-{partition} may lie in a data directory that is offline.",
                )
        open_ones = [directory for directory in online if directory.path not in self.cordoned]
        if not open_ones:  # the controller gave it to us before it knew: better here than nowhere
            return online[:1]
        return sorted(open_ones, key=lambda directory: self._counts[directory.path])

    def _create_in(
        self, directory: DataDirectory, topic: str, partition: int, topic_id: bytes, now_ms: int
    ) -> PartitionLog:
        path = os.path.join(directory.path, partition_directory_name(topic, partition))
        try:
            return create_log(
                path,
                topic,
                partition,
                topic_id=topic_id,
                config=self._config_for(topic),
                files=self.files,
                now_ms=now_ms,
                producer_expiration_ms=self.config.producer_expiration_ms,
            )
        except FileExistsError:
            raise KafkaError(
                ErrorCode.KAFKA_STORAGE_ERROR, f"{path} exists but is no log of this node."
            ) from None
        except OSError as error:
            with suppress(OSError):
                remove_directory(path)
            raise LogDirFailure(path, "creating a log", error) from error

    def _assign_topic_id(self, log: PartitionLog, topic_id: bytes) -> None:
        try:
            log.unsynced_paths.append(write_topic_id(log.directory, topic_id))
        except OSError as error:
            failure = LogDirFailure(log.directory, "writing the topic id", error)
            self.handle_failure(failure)
            raise failure from error
        log.topic_id = topic_id

    def set_config(self, topic: str, config: LogConfig) -> None:
        """Give all partitions of a topic other settings."""
        for partition, log in self._by_topic.get(topic, {}).items():
            if log.config.compact and not config.compact:
                self.cleaning.abort((topic, partition))
            log.config = config

    def truncate(self, offsets: Mapping[TopicPartition, int], now_ms: int) -> None:
        """Cut logs at their end, as a follower does that left its leader's log.

        A recovery point beyond the cut is corrected on the disk before anything is appended:
        recovery must never skip what was written there since.
        """
        touched: list[DataDirectory] = []
        for key, offset in offsets.items():
            log = self.logs[key]
            recovery_point = log.recovery_point
            if offset < log.active.base_offset:
                self.cleaning.abort(key)
            log.truncate_to(offset, now_ms)
            self.cleaning.truncated(key, log.active.base_offset)
            directory = self.directory_of(log)
            if log.recovery_point < recovery_point and directory not in touched:
                touched.append(directory)
        written = self.checkpoint_round(touched)
        written.run()
        self.finish_checkpoints(written)
