"""Which handlers serve which listener: the two API tables of a node."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from headrace.base.clock import Clock
from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.settings.describe import describe_topic
from headrace.broker.api_table import OPEN, Access, ApiTable, Handler, on_cluster, on_each
from headrace.broker.authorization import Operation, ResourceType
from headrace.broker.cluster_view import ClusterView
from headrace.broker.config import BrokerConfig
from headrace.broker.coordination.groups import Groups
from headrace.broker.coordination.internal_topics import InternalTopics
from headrace.broker.fetch_reads import PartitionReader
from headrace.broker.fetch_sessions import FetchSessions
from headrace.broker.handlers.alter_configs import (
    AlterConfigsHandler,
    IncrementalAlterConfigsHandler,
)
from headrace.broker.handlers.api_versions import ApiVersionsHandler
from headrace.broker.handlers.create_partitions import CreatePartitionsHandler
from headrace.broker.handlers.create_topics import CreateTopicsHandler, EffectiveConfigs
from headrace.broker.handlers.delete_records import DeleteRecordsHandler
from headrace.broker.handlers.delete_topics import DeleteTopicsHandler
from headrace.broker.handlers.describe_cluster import DescribeClusterHandler
from headrace.broker.handlers.describe_configs import DescribeConfigsHandler
from headrace.broker.handlers.describe_log_dirs import DescribeLogDirsHandler
from headrace.broker.handlers.describe_producers import DescribeProducersHandler
from headrace.broker.handlers.describe_quorum import DescribeQuorumHandler
from headrace.broker.handlers.describe_topic_partitions import DescribeTopicPartitionsHandler
from headrace.broker.handlers.elect_leaders import ElectLeadersHandler
from headrace.broker.handlers.fetch import FetchHandler
from headrace.broker.handlers.find_coordinator import (
    GROUP,
    TRANSACTION,
    FindCoordinatorHandler,
)
from headrace.broker.handlers.list_config_resources import ListConfigResourcesHandler
from headrace.broker.handlers.list_offsets import ListOffsetsHandler
from headrace.broker.handlers.metadata import MetadataHandler
from headrace.broker.handlers.offset_for_leader_epoch import OffsetForLeaderEpochHandler
from headrace.broker.handlers.produce import PrepareElsewhere, ProduceHandler
from headrace.broker.handlers.unregister_broker import UnregisterBrokerHandler
from headrace.broker.handlers.update_features import UpdateFeaturesHandler
from headrace.broker.loggers import logger_levels
from headrace.broker.metrics import BrokerMetrics
from headrace.broker.parked import Scheduler
from headrace.broker.partitions import Partitions
from headrace.broker.produce_appends import ProduceAppends
from headrace.broker.time_lookups import OpenElsewhere
from headrace.broker.wakeups import Wakeups
from headrace.log.log_manager import LogManager
from headrace.metadata.controller.settings import ControllerSettings
from headrace.metadata.controller.topics import create_topics
from headrace.metadata.image import MetadataImage
from headrace.protocol.apis import ApiKey
from headrace.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
)
from headrace.server.config import NodeConfig
from headrace.server.metadata_plane import MetadataPlane
from headrace.server.serving_groups import group_rows
from headrace.server.serving_transactions import transaction_rows
from headrace.server.settings_in_force import SettingsInForce
from headrace.server.transaction_coordination import TransactionServices

Row = tuple[ApiKey, Access, Handler]


@dataclass(frozen=True, slots=True)
class Services:
    """The parts of a node that handlers are made of."""

    config: NodeConfig
    settings: SettingsInForce
    broker_config: BrokerConfig
    broker_epoch: int
    clock: Clock
    scheduler: Scheduler
    metrics: BrokerMetrics
    partitions: Partitions
    logs: LogManager
    plane: MetadataPlane
    controller_settings: ControllerSettings
    cluster: ClusterView
    sessions: FetchSessions
    prepare_elsewhere: PrepareElsewhere
    open_elsewhere: OpenElsewhere
    groups: Groups
    transactions: TransactionServices
    internal_topics: InternalTopics


def broker_table(services: Services) -> ApiTable:
    """What clients may ask a broker."""
    s = services
    topic = ResourceType.TOPIC
    wakeups = Wakeups(s.scheduler)
    rows: list[Row] = [
        (
            ApiKey.PRODUCE,
            on_each(Operation.WRITE, topic),
            ProduceHandler(
                s.partitions,
                ProduceAppends(s.partitions, s.scheduler, s.metrics, wakeups),
                s.clock,
                s.prepare_elsewhere,
                s.transactions.admission,
            ),
        ),
        (
            ApiKey.FETCH,
            on_each(Operation.READ, topic),
            FetchHandler(
                PartitionReader(s.partitions, s.metrics),
                s.sessions,
                s.scheduler,
                s.clock,
                s.broker_config,
                wakeups,
            ),
        ),
        (
            ApiKey.METADATA,
            on_each(Operation.DESCRIBE, topic),
            MetadataHandler(s.cluster, s.broker_config, _auto_create(s)),
        ),
        (
            ApiKey.LIST_OFFSETS,
            on_each(Operation.DESCRIBE, topic),
            ListOffsetsHandler(s.partitions, s.scheduler, s.open_elsewhere),
        ),
        (
            ApiKey.OFFSET_FOR_LEADER_EPOCH,
            on_each(Operation.DESCRIBE, topic),
            OffsetForLeaderEpochHandler(s.partitions),
        ),
        (
            ApiKey.DELETE_RECORDS,
            on_each(Operation.DELETE, topic),
            DeleteRecordsHandler(s.partitions),
        ),
        (
            ApiKey.DESCRIBE_PRODUCERS,
            on_each(Operation.READ, topic),
            DescribeProducersHandler(s.partitions),
        ),
    ]
    rows += [
        (
            ApiKey.DESCRIBE_LOG_DIRS,
            on_cluster(Operation.DESCRIBE),
            DescribeLogDirsHandler(s.logs, s.partitions, s.plane),
        ),
        (
            ApiKey.DESCRIBE_TOPIC_PARTITIONS,
            on_each(Operation.DESCRIBE, topic),
            DescribeTopicPartitionsHandler(s.cluster, s.broker_config),
        ),
        (
            ApiKey.LIST_CONFIG_RESOURCES,
            on_cluster(Operation.DESCRIBE_CONFIGS),
            ListConfigResourcesHandler(s.cluster),
        ),
        (
            ApiKey.DESCRIBE_CLUSTER,
            # Whoever finds a broker may know of the others; only operations are guarded.
            OPEN,
            DescribeClusterHandler(s.cluster),
        ),
    ]
    rows += [
        (
            ApiKey.FIND_COORDINATOR,
            on_each(Operation.DESCRIBE, ResourceType.GROUP),
            FindCoordinatorHandler(
                s.cluster,
                s.internal_topics,
                {
                    GROUP: s.groups.coordinators,
                    TRANSACTION: s.transactions.transactions.coordinators,
                },
            ),
        ),
    ]
    rows += group_rows(s.groups, s.cluster)
    rows += transaction_rows(s.transactions, s.groups, s.cluster, s.clock)
    return _table(services, rows + _administration(services))


def controller_table(services: Services) -> ApiTable:
    """What administrators may ask a controller directly (KIP-919)."""
    describe_cluster = DescribeClusterHandler(services.cluster, lambda: services.plane.raft.node_id)
    rows: list[Row] = [(ApiKey.DESCRIBE_CLUSTER, on_cluster(Operation.ALTER), describe_cluster)]
    return _table(services, rows + _administration(services))


def _table(services: Services, rows: list[Row]) -> ApiTable:
    table: ApiTable
    api_versions = ApiVersionsHandler(lambda: table, services.cluster)
    table = ApiTable([*rows, (ApiKey.API_VERSIONS, OPEN, api_versions)])
    return table


def _administration(services: Services) -> list[Row]:
    """Served on both kinds of listeners."""
    s = services
    topic = ResourceType.TOPIC
    return [
        (
            ApiKey.CREATE_TOPICS,
            on_each(Operation.CREATE, topic),
            CreateTopicsHandler(
                s.plane, s.controller_settings, lambda: s.plane.image, _effective_configs(s)
            ),
        ),
        (
            ApiKey.DELETE_TOPICS,
            on_each(Operation.DELETE, topic),
            DeleteTopicsHandler(
                s.plane,
                lambda: s.plane.image,
                is_enabled=bool(s.config.values["delete.topic.enable"]),
            ),
        ),
        (
            ApiKey.CREATE_PARTITIONS,
            on_each(Operation.ALTER, topic),
            CreatePartitionsHandler(s.plane, s.controller_settings),
        ),
        (
            ApiKey.ALTER_CONFIGS,
            on_each(Operation.ALTER_CONFIGS, topic),
            AlterConfigsHandler(s.plane, s.controller_settings),
        ),
        (
            ApiKey.INCREMENTAL_ALTER_CONFIGS,
            on_each(Operation.ALTER_CONFIGS, topic),
            IncrementalAlterConfigsHandler(s.plane, s.controller_settings, s.broker_config.node_id),
        ),
        (
            ApiKey.DESCRIBE_CONFIGS,
            on_each(Operation.DESCRIBE_CONFIGS, topic),
            DescribeConfigsHandler(s.cluster, s.config.properties, logger_levels),
        ),
        (
            ApiKey.DESCRIBE_QUORUM,
            on_cluster(Operation.DESCRIBE),
            DescribeQuorumHandler(s.plane, s.cluster, s.clock),
        ),
        (
            ApiKey.UPDATE_FEATURES,
            on_cluster(Operation.ALTER),
            UpdateFeaturesHandler(s.plane, s.controller_settings, s.broker_config.node_id),
        ),
        (
            ApiKey.ELECT_LEADERS,
            on_cluster(Operation.ALTER),
            ElectLeadersHandler(s.plane, s.controller_settings),
        ),
        (
            ApiKey.UNREGISTER_BROKER,
            on_cluster(Operation.ALTER),
            UnregisterBrokerHandler(s.plane, s.controller_settings, s.broker_config.node_id),
        ),
    ]


def _effective_configs(s: Services) -> EffectiveConfigs:
    def effective(
        image: MetadataImage, topic: str, given: dict[str, str]
    ) -> list[CreatableTopicConfigs]:
        return [
            CreatableTopicConfigs(
                name=entry.name,
                value=entry.value,
                read_only=entry.read_only,
                config_source=entry.source,
                is_sensitive=entry.sensitive,
            )
            for entry in describe_topic(given, s.settings.layers(image))
        ]

    return effective


def _auto_create(
    s: Services,
) -> Callable[[list[str], Callable[[dict[str, KafkaError]], None]], None]:
    """Topics that come into being because somebody asked for them."""

    def create(names: list[str], done: Callable[[dict[str, KafkaError]], None]) -> None:
        topics = [
            CreatableTopic(name=name, num_partitions=-1, replication_factor=-1) for name in names
        ]

        def created(reply: list[CreatableTopicResult] | KafkaError) -> None:
            if isinstance(reply, KafkaError):
                done(dict.fromkeys(names, reply))
                return
            done(
                {
                    result.name: KafkaError(ErrorCode(result.error_code))
                    for result in reply
                    if result.error_code not in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS)
                }
            )

        s.plane.submit(lambda image: create_topics(image, s.controller_settings, topics), created)

    return create
