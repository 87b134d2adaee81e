"""Partitions, logs and data directories on the metrics page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from headrace.broker.fetch_sessions import FetchSessions
from headrace.broker.partitions import Partitions
from headrace.log.log_manager import LogManager
from headrace.replication.partition import Partition
from headrace.server.prometheus import COUNTER, GAUGE, Family, Sample, single

_MANAGER = "kafka.server:type=ReplicaManager,name="


def replica_families(partitions: Partitions) -> Iterator[Family]:
    """What the replicas of this node add up to."""
    hosted = list(partitions)
    led = [partition for partition in hosted if partition.is_leader]
    with_log = [partition for partition in hosted if partition.has_log]
    producers = sum(len(partition.log.producers) for partition in with_log)
    enforced = [partition for partition in with_log if partition.is_leader]
    for name, value in (
        ("PartitionCount", len(hosted)),
        ("LeaderCount", len(led)),
        ("UnderReplicatedPartitions", sum(map(is_under_replicated, led))),
        ("UnderMinIsrPartitionCount", sum(map(is_under_min_isr, enforced))),
        ("AtMinIsrPartitionCount", sum(map(is_at_min_isr, enforced))),
        ("OfflineReplicaCount", len(partitions.offline)),
        ("ProducerIdCount", producers),
    ):
        yield single(f"kafka_server_replicamanager_{name.lower()}", GAUGE, _MANAGER + name, value)
    yield Family(
        "kafka_server_replicafetchermanager_maxlag",
        GAUGE,
        "kafka.server:type=ReplicaFetcherManager,name=MaxLag",
        # No other node leads anything that this one would have to fetch.
        [("", {"clientId": "Replica"}, 0)],
    )
    waiting = [partition.data_waiters for partition in hosted if partition.data_waiters]
    produces = sum(len(partition.replication_waiters) for partition in hosted)
    for name, fetches in (
        ("PurgatorySize", sum(map(len, waiting))),
        ("NumDelayedOperations", len({waiter for waiters in waiting for waiter in waiters})),
    ):
        yield Family(
            f"kafka_server_delayedoperationpurgatory_{name.lower()}",
            GAUGE,
            f"kafka.server:type=DelayedOperationPurgatory,name={name}",
            [
                ("", {"delayedOperation": "Fetch"}, fetches),
                ("", {"delayedOperation": "Produce"}, produces),
            ],
        )


def session_families(sessions: FetchSessions) -> Iterator[Family]:
    bean = "kafka.server:type=FetchSessionCache,name="
    for name, kind, value in (
        ("NumIncrementalFetchSessions", GAUGE, len(sessions)),
        ("NumIncrementalFetchPartitionsCached", GAUGE, sessions.partition_count),
    ):
        yield single(f"kafka_server_fetchsessioncache_{name.lower()}", kind, bean + name, value)
    yield single(
        "kafka_server_fetchsessioncache_incrementalfetchsessionevictions_total",
        COUNTER,
        f"{bean}IncrementalFetchSessionEvictionsPerSec",
        sessions.evictions,
    )


def partition_families(partitions: Partitions) -> Iterator[Family]:
    """One sample for each partition that has its log: the long part of the page."""
    hosted = [partition for partition in partitions if partition.has_log]
    led = [partition for partition in hosted if partition.is_leader]
    for name, value, among in (
        ("kafka.log:type=Log,name=Size", lambda p: p.log.size_bytes, hosted),
        ("kafka.log:type=Log,name=LogStartOffset", lambda p: p.log.log_start_offset, hosted),
        ("kafka.log:type=Log,name=LogEndOffset", lambda p: p.log.log_end_offset, hosted),
        ("kafka.log:type=Log,name=NumLogSegments", lambda p: len(p.log.segments), hosted),
        (
            "kafka.cluster:type=Partition,name=ReplicasCount",
            lambda p: len(p.leadership.replicas),
            led,
        ),
        (
            "kafka.cluster:type=Partition,name=InSyncReplicasCount",
            lambda p: len(p.leadership.isr),
            led,
        ),
        ("kafka.cluster:type=Partition,name=UnderReplicated", is_under_replicated, led),
        ("kafka.cluster:type=Partition,name=UnderMinIsr", is_under_min_isr, led),
        ("kafka.cluster:type=Partition,name=AtMinIsr", is_at_min_isr, led),
        (
            "kafka.cluster:type=Partition,name=LastStableOffsetLag",
            lambda p: p.high_watermark - p.last_stable_offset,
            led,
        ),
    ):
        yield Family(flat_name(name), GAUGE, name, _per_partition(among, value))


def _per_partition(
    partitions: Iterable[Partition], value: Callable[[Partition], int]
) -> Iterator[Sample]:
    for partition in partitions:
        labels = {"topic": partition.topic, "partition": str(partition.index)}
        yield "", labels, int(value(partition))


def directory_families(logs: LogManager) -> Iterator[Family]:
    """The data directories."""
    manager = "kafka.log:type=LogManager,name="
    directories = logs.directories
    offline = [directory for directory in directories if not directory.online]
    yield single(
        "kafka_log_logmanager_offlinelogdirectorycount",
        GAUGE,
        f"{manager}OfflineLogDirectoryCount",
        len(offline),
    )
    yield single(
        "kafka_log_logmanager_cordonedlogdirectorycount",
        GAUGE,
        f"{manager}CordonedLogDirectoryCount",
        len(logs.cordoned),
    )
    yield Family(
        "kafka_log_logmanager_logdirectoryoffline",
        GAUGE,
        f"{manager}LogDirectoryOffline",
        [("", {"logDirectory": one.path}, int(not one.online)) for one in directories],
    )
    yield Family(
        "kafka_log_logmanager_logdirectorycordoned",
        GAUGE,
        f"{manager}LogDirectoryCordoned",
        [("", {"logDirectory": one.path}, int(one.path in logs.cordoned)) for one in directories],
    )


def cleaner_families(logs: LogManager, now_ms: int) -> Iterator[Family]:
    """How far compaction is behind, and what its last round took."""
    cleaner = "kafka.log:type=LogCleanerManager,name="
    cleaning = logs.cleaning
    last, last_look_ms = cleaning.last_round, cleaning.last_look_ms
    for bean, value in (
        (f"{cleaner}max-dirty-percent", int(100 * cleaning.dirtiest_ratio)),
        (
            f"{cleaner}time-since-last-run-ms",
            0 if last_look_ms is None else max(0, now_ms - last_look_ms),
        ),
        (
            "kafka.log:type=LogCleaner,name=cleaner-recopy-percent",
            int(100 * last.bytes_written / max(1, last.bytes_read)),
        ),
        (
            "kafka.log:type=LogCleaner,name=max-clean-time-secs",
            max(0, cleaning.last_round_ms) // 1000,
        ),
    ):
        yield single(flat_name(bean), GAUGE, bean, value)
    uncleanable = [logs.logs[key] for key in logs.cleaning.uncleanable if key in logs.logs]
    for name, measure in (
        ("uncleanable-partitions-count", lambda found: len(found)),
        ("uncleanable-bytes", lambda found: sum(log.size_bytes for log in found)),
    ):
        yield Family(
            f"kafka_log_logcleanermanager_{name.replace('-', '_')}",
            GAUGE,
            cleaner + name,
            [
                (
                    "",
                    {"logDirectory": one.path},
                    measure([log for log in uncleanable if logs.directory_of(log) is one]),
                )
                for one in logs.online
            ],
        )


def flat_name(bean: str) -> str:
    """The name that the JMX exporter's rules for Kafka make of a bean without further keys."""
    domain, _, keys = bean.partition(":")
    values = dict(pair.split("=", 1) for pair in keys.split(","))
    name = f"{domain}_{values['type']}_{values['name']}"
    return name.replace(".", "_").replace("-", "_").lower()


def is_under_replicated(partition: Partition) -> bool:
    return len(partition.leadership.isr) < len(partition.leadership.replicas)


def is_under_min_isr(partition: Partition) -> bool:
    return len(partition.leadership.isr) < _min_isr(partition)


def is_at_min_isr(partition: Partition) -> bool:
    return len(partition.leadership.isr) == _min_isr(partition)


def _min_isr(partition: Partition) -> int:
    """No partition can ask for more replicas than it has."""
    return min(partition.log.config.min_insync_replicas, len(partition.leadership.replicas))
