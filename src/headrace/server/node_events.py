"""What happens to a node and its data, as lines of its log.

The parts that work on data know nothing of logging: they tell their listeners, and most functions
here are such listeners. What concerns thousands of partitions at once still makes few lines.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

import headrace
from headrace.base.clock import Clock
from headrace.base.settings.effective import BrokerLayers
from headrace.log.cleaner.job import CleanJob, CleanResult
from headrace.log.directories import DataDirectory
from headrace.log.directory_loading import LoadedDirectory
from headrace.log.log_registry import Deletions
from headrace.log.recovery_tasks import RecoveryOutcome, RecoveryRunner, RecoveryTask
from headrace.metadata.changes import MetadataChanges
from headrace.metadata.image import MetadataImage
from headrace.server.config import NodeConfig
from headrace.server.settings_told import changed_settings, effective_settings

logger = logging.getLogger(__name__)

#: Lines of one kind at a time; how many more there would be is one line.
_LINES_MAX = 20


# Start and stop


def tell_start(config: NodeConfig) -> None:
    logger.info(
        "starting Headrace %s as node %d (%s): process %d, Python %s, data in %s",
        headrace.__version__,
        config.node_id,
        ", ".join(sorted(config.process_roles)),
        os.getpid(),
        ".".join(map(str, sys.version_info[:3])),
        ", ".join(config.log_dirs),
    )


def tell_metadata(
    cluster_id: str, image: MetadataImage, layers: BrokerLayers, unreadable: Sequence[str]
) -> None:
    """What the metadata log had, and the settings that hold with it."""
    logger.info("node of cluster %s, with its metadata up to offset %d", cluster_id, image.offset)
    logger.info("settings that are not their defaults: %s", ", ".join(changed_settings(layers)))
    if logger.isEnabledFor(logging.DEBUG):  # four hundred lines
        for line in effective_settings(layers):
            logger.debug("setting %s", line)
    _tell_some(logging.WARNING, iter(unreadable), len(unreadable), "settings of this kind")


def tell_started(image: MetadataImage, elapsed_ms: float) -> None:
    topics = image.topics_by_name.values()
    logger.info(
        "started in %.2f s: %s, %s",
        elapsed_ms / 1000,
        _counted(len(topics), "topic"),
        _counted(sum(len(topic.partitions) for topic in topics), "partition"),
    )


def tell_stopped(directories: Iterable[DataDirectory], elapsed_ms: float) -> None:
    for directory in directories:
        if not directory.is_marked_clean:
            logger.warning(
                "%s is not closed cleanly: the next start will recover its logs", directory.path
            )
    logger.info("stopped in %.2f s", elapsed_ms / 1000)


# Data directories


def tell_loaded(
    directories: Iterable[DataDirectory], loaded: Mapping[str, LoadedDirectory]
) -> None:
    """How each directory was found; those that needed recovery have told so already."""
    for directory in directories:
        content = loaded.get(directory.path)
        if content is None:
            logger.error("%s is offline: %s", directory.path, directory.failure)
            continue
        if content.was_clean:
            count = _counted(len(content.logs), "log")
            logger.info("%s was closed cleanly: %s, none to recover", directory.path, count)
        elif not content.recovered:
            logger.info("%s holds no logs", directory.path)
        for warning in content.warnings:
            logger.warning("%s", warning)
        broken = (f"{t}-{p} cannot be used: {why}" for (t, p), why in content.broken.items())
        _tell_some(logging.ERROR, broken, len(content.broken), "partitions")


def told_recovery(recover: RecoveryRunner, clock: Clock) -> RecoveryRunner:
    """The same recovery of one directory's logs, with its beginning and its end in the log."""

    def run(tasks: Sequence[RecoveryTask]) -> Sequence[RecoveryOutcome]:
        directory = os.path.dirname(tasks[0].directory)
        count = _counted(len(tasks), "log")
        logger.info("%s was not closed cleanly: recovering %s", directory, count)
        began_ms = clock.mono_ms()
        outcomes = recover(tasks)
        elapsed = (clock.mono_ms() - began_ms) / 1000
        cut = [outcome for outcome in outcomes if outcome.truncated_bytes]
        lines = (f"{one.directory} was torn: cut {one.truncated_bytes} bytes off" for one in cut)
        _tell_some(logging.WARNING, lines, len(cut), "logs")
        logger.info(
            "%s: recovered %s in %.2f s, read %d bytes, cut %d bytes off %s",
            directory,
            count,
            elapsed,
            sum(outcome.scanned_bytes for outcome in outcomes),
            sum(outcome.truncated_bytes for outcome in cut),
            _counted(len(cut), "log"),
        )
        return outcomes

    return run


def tell_offline(directory: DataDirectory, partitions: int) -> None:
    logger.error(
        "%s is offline, and %s with it: %s",
        directory.path,
        _counted(partitions, "partition"),
        directory.failure,
    )


# Topics and their logs


def tell_topics(changes: MetadataChanges, _: MetadataImage) -> None:
    lines = list(_topic_lines(changes))
    _tell_some(logging.INFO, iter(lines), len(lines), "topics")


def _topic_lines(changes: MetadataChanges) -> Iterator[str]:
    for change in changes.topics.values():
        name, count = change.topic.name, _counted(len(change.topic.partitions), "partition")
        if change.before is None:
            yield f"created topic {name} with {count}"
        elif change.after is None:
            yield f"deleted topic {name} with {count}"
        elif len(change.after.partitions) != len(change.before.partitions):
            yield f"topic {name} has {count} now, not {len(change.before.partitions)}"


def tell_deleted(deletions: Deletions) -> None:
    lines = (
        f"deleted {_counted(gone.segments, 'segment')} of {log.topic}-{log.partition},"
        f" {gone.size} bytes: {gone.reason}; the log starts at offset {log.log_start_offset} now"
        for log, gone in deletions
    )
    _tell_some(logging.INFO, lines, len(deletions), "partitions with deleted segments")


def tell_compacted(job: CleanJob, result: CleanResult, elapsed_ms: int) -> None:
    stats = result.stats
    logger.info(
        "compacted %s-%d up to offset %d in %.2f s: %d records in %d bytes became %d in %d bytes",
        job.topic,
        job.partition,
        result.end_offset,
        elapsed_ms / 1000,
        stats.records_read,
        stats.bytes_read,
        stats.records_written,
        stats.bytes_written,
    )
    if stats.keyless_records:
        logger.warning(
            "compacting %s-%d dropped %d records without a key",
            job.topic,
            job.partition,
            stats.keyless_records,
        )


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _tell_some(level: int, lines: Iterator[str], count: int, what: str) -> None:
    for line in islice(lines, _LINES_MAX):
        logger.log(level, "%s", line)
    if count > _LINES_MAX:
        logger.log(level, "and %d more %s", count - _LINES_MAX, what)
