"""Loading every partition of a data directory when a node starts.

After a clean stop nothing is scanned: a few system calls a partition, and no file stays open.
After a hard kill each partition is recovered from its recovery point on, possibly elsewhere (see
`recovery_tasks`), and then loaded in the same way.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass, field

from headrace.base.errors import KafkaError
from headrace.log.checkpoints import CheckpointError, OffsetCheckpoint, TopicPartition
from headrace.log.config import LogConfig
from headrace.log.directories import DataDirectory
from headrace.log.directory_names import DELETE, PartitionDirectoryName
from headrace.log.loading import load_log
from headrace.log.open_files import OpenFiles
from headrace.log.partition_log import PartitionLog
from headrace.log.recovery_tasks import RecoveryOutcome, RecoveryRunner, RecoveryTask

#: Belongs to the metadata plane, whatever directory it lies in.
METADATA_TOPIC = "__cluster_metadata"


@dataclass(slots=True)
class LoadedDirectory:
    """What one data directory holds."""

    logs: list[PartitionLog] = field(default_factory=list)
    #: Paths of partitions whose deletion has begun.
    deleting: list[str] = field(default_factory=list)
    #: Partitions that could not be loaded, and why; their files are untouched.
    broken: dict[TopicPartition, str] = field(default_factory=dict)
    recovered: list[RecoveryOutcome] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    was_clean: bool = False
    broker_epoch: int = -1


@dataclass(frozen=True, slots=True)
class LoadSettings:
    """What loading needs to know from outside."""

    config_for: Callable[[str], LogConfig]
    files: OpenFiles
    now_ms: int
    producer_expiration_ms: int
    recover: RecoveryRunner
    #: Called before each log; what it raises ends the loading.
    before_each: Callable[[], None]


def load_directory(directory: DataDirectory, settings: LoadSettings) -> LoadedDirectory:
    """Load all partitions; OSError means that the directory cannot be used."""
    loaded = LoadedDirectory()
    recovery_points = _read(directory.recovery_points, loaded)
    log_starts = _read(directory.log_starts, loaded)
    names = _partitions_in_use(directory, loaded)
    loaded.was_clean, loaded.broker_epoch = directory.take_clean_shutdown()
    if not loaded.was_clean:
        names = _recover(directory, names, settings, recovery_points, log_starts, loaded)
    for name, parsed in names:
        settings.before_each()
        key = (parsed.topic, parsed.partition)
        try:
            log = load_log(
                os.path.join(directory.path, name),
                parsed.topic,
                parsed.partition,
                config=settings.config_for(parsed.topic),
                files=settings.files,
                now_ms=settings.now_ms,
                clean=True,
                recovery_point=recovery_points.get(key, 0),
                log_start_offset=log_starts.get(key, 0),
                producer_expiration_ms=settings.producer_expiration_ms,
            )
        except (KafkaError, ValueError) as error:
            loaded.broken[key] = str(error)
            continue
        if not loaded.was_clean:
            # Recovery reads and cuts, but syncs nothing: what it found may still be lost.
            log.recovery_point = min(recovery_points.get(key, 0), log.log_end_offset)
        loaded.logs.append(log)
    return loaded


def _read(checkpoint: OffsetCheckpoint, loaded: LoadedDirectory) -> dict[TopicPartition, int]:
    """A damaged checkpoint costs time, not data: without it, logs are checked from their start."""
    try:
        return checkpoint.read()
    except CheckpointError as error:
        loaded.warnings.append(f"{error}; its offsets are taken as unknown.")
        return {}


def _partitions_in_use(
    directory: DataDirectory, loaded: LoadedDirectory
) -> list[tuple[str, PartitionDirectoryName]]:
    in_use = []
    for name, parsed in directory.partitions():
        if parsed.suffix == DELETE:
            loaded.deleting.append(os.path.join(directory.path, name))
        elif parsed.suffix:
            loaded.warnings.append(f"{os.path.join(directory.path, name)} is left as it is.")
        elif parsed.topic != METADATA_TOPIC:
            in_use.append((name, parsed))
    return in_use


def _recover(
    directory: DataDirectory,
    names: list[tuple[str, PartitionDirectoryName]],
    settings: LoadSettings,
    recovery_points: dict[TopicPartition, int],
    log_starts: dict[TopicPartition, int],
    loaded: LoadedDirectory,
) -> list[tuple[str, PartitionDirectoryName]]:
    """Recover all partitions; those that are fit to be loaded."""
    tasks = [
        RecoveryTask(
            os.path.join(directory.path, name),
            settings.config_for(parsed.topic),
            recovery_points.get((parsed.topic, parsed.partition), 0),
            log_starts.get((parsed.topic, parsed.partition), 0),
            settings.now_ms,
            settings.producer_expiration_ms,
        )
        for name, parsed in names
    ]
    loaded.recovered = list(settings.recover(tasks)) if tasks else []
    fit = []
    for (name, parsed), outcome in zip(names, loaded.recovered, strict=True):
        if outcome.errno is not None:
            raise OSError(outcome.errno, os.strerror(outcome.errno), outcome.directory)
        if outcome.problem is not None:
            loaded.broken[parsed.topic, parsed.partition] = outcome.problem
        else:
            fit.append((name, parsed))
    return fit
