"""From a node's settings to the small configs that its parts own.

Functions of `values` alone can be asked again with `BrokerLayers.values()` after somebody changed
a broker config while the node runs.
"""

from headrace.base.settings.tables.headrace import BUSY_POLL_US
from headrace.base.settings.typed import Values, flag, integer, number
from headrace.broker.config import BrokerConfig
from headrace.groups.config import GroupConfig
from headrace.log.log_registry import LogManagerConfig
from headrace.metadata.snapshot_policy import SnapshotPolicy
from headrace.server.config import NodeConfig
from headrace.server.connection_limits import ConnectionLimits, overrides_per_ip
from headrace.server.listener_config import is_wildcard
from headrace.server.maintenance import MaintenanceConfig
from headrace.server.metadata_start import MetadataConfig
from headrace.server.sockets import BACKLOG, SocketOptions

_NEVER_IDLE_MS = (1 << 63) - 1


def maintenance_config(values: Values) -> MaintenanceConfig:
    return MaintenanceConfig(
        retention_check_interval_ms=integer(values, "log.retention.check.interval.ms"),
        flush_check_interval_ms=integer(values, "log.flush.scheduler.interval.ms"),
        recovery_point_checkpoint_interval_ms=integer(
            values, "log.flush.offset.checkpoint.interval.ms"
        ),
        log_start_offset_checkpoint_interval_ms=integer(
            values, "log.flush.start.offset.checkpoint.interval.ms"
        ),
        high_watermark_checkpoint_interval_ms=integer(
            values, "replica.high.watermark.checkpoint.interval.ms"
        ),
        producer_expiration_check_interval_ms=integer(
            values, "producer.id.expiration.check.interval.ms"
        ),
        cleaner_enable=flag(values, "log.cleaner.enable"),
        cleaner_backoff_ms=integer(values, "log.cleaner.backoff.ms"),
    )


def log_manager_config(values: Values) -> LogManagerConfig:
    return LogManagerConfig(
        producer_expiration_ms=integer(values, "producer.id.expiration.ms"),
        file_delete_delay_ms=integer(values, "log.segment.delete.delay.ms"),
        cleaner_dedupe_buffer_size=integer(values, "log.cleaner.dedupe.buffer.size"),
        cleaner_dedupe_buffer_load_factor=number(values, "log.cleaner.io.buffer.load.factor"),
        cleaner_io_max_bytes_per_second=number(values, "log.cleaner.io.max.bytes.per.second"),
    )


def group_config(values: Values) -> GroupConfig:
    return GroupConfig(
        session_timeout_ms_min=integer(values, "group.min.session.timeout.ms"),
        session_timeout_ms_max=integer(values, "group.max.session.timeout.ms"),
        initial_rebalance_delay_ms=integer(values, "group.initial.rebalance.delay.ms"),
        members_max=integer(values, "group.max.size"),
        offset_metadata_max=integer(values, "offset.metadata.max.bytes"),
        offsets_retention_ms=integer(values, "offsets.retention.minutes") * 60_000,
        offsets_retention_check_interval_ms=integer(values, "offsets.retention.check.interval.ms"),
        records_compression=integer(values, "offsets.topic.compression.codec"),
    )


def connection_limits(values: Values) -> ConnectionLimits:
    idle_ms = integer(values, "connections.max.idle.ms")
    return ConnectionLimits(
        frame_size_max=integer(values, "socket.request.max.bytes"),
        connections_max=integer(values, "max.connections"),
        connections_per_ip_max=integer(values, "max.connections.per.ip"),
        connections_per_ip_overrides=overrides_per_ip(values),
        creation_rate_max=integer(values, "max.connection.creation.rate"),
        idle_ms_max=idle_ms if idle_ms >= 0 else _NEVER_IDLE_MS,
        queued_bytes_max=integer(values, "queued.max.request.bytes"),
    )


def socket_options(node: NodeConfig) -> SocketOptions:
    """Only what somebody set: see `SocketOptions` for why Kafka's own defaults do not act."""

    def given(name: str) -> int | None:
        value = integer(node.values, name) if name in node.properties else -1
        return value if value > 0 else None

    return SocketOptions(
        send_buffer_bytes=given("socket.send.buffer.bytes"),
        receive_buffer_bytes=given("socket.receive.buffer.bytes"),
        backlog=given("socket.listen.backlog.size") or BACKLOG,
    )


def poll_us(node: NodeConfig) -> int:
    """For how long to look for the next request before sleeping: see `brief_polling`."""
    return integer(node.values, BUSY_POLL_US)


def broker_config(node: NodeConfig, cluster_id: str) -> BrokerConfig:
    values = node.values
    return BrokerConfig(
        node_id=node.node_id,
        rack=node.rack,
        cluster_id=cluster_id,
        auto_create_topics=flag(values, "auto.create.topics.enable"),
        num_partitions=integer(values, "num.partitions"),
        default_replication_factor=integer(values, "default.replication.factor"),
        fetch_bytes_max=integer(values, "fetch.max.bytes"),
        fetch_session_slots=integer(values, "max.incremental.fetch.session.cache.slots"),
        describe_partitions_max=integer(values, "max.request.partition.size.limit"),
        advertised=tuple(
            (listener.name, listener.advertised_host, listener.advertised_port)
            for listener in node.listeners
            if listener.advertised_host is not None and listener.advertised_port is not None
        ),
        without_host=frozenset(
            listener.name
            for listener in node.listeners
            if listener.advertised_host is None and is_wildcard(listener.host)
        ),
    )


def metadata_config(node: NodeConfig) -> MetadataConfig:
    values = node.values
    return MetadataConfig(
        node_id=node.node_id,
        data_directory=node.metadata_log_dir,
        voter_ids=tuple(voter.node_id for voter in node.quorum_voters) or (node.node_id,),
        segment_bytes=integer(values, "metadata.log.segment.bytes"),
        segment_ms=integer(values, "metadata.log.segment.ms"),
        snapshots=SnapshotPolicy(
            bytes_between_max=integer(values, "metadata.log.max.record.bytes.between.snapshots"),
            interval_ms_max=integer(values, "metadata.log.max.snapshot.interval.ms"),
            retention_bytes=integer(values, "metadata.max.retention.bytes"),
            retention_ms=integer(values, "metadata.max.retention.ms"),
        ),
        idle_interval_ms=integer(values, "metadata.max.idle.interval.ms"),
    )
