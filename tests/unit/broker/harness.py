"""A whole broker without sockets, threads or time: frames in, frames out, on a real directory.

Everything is what a node is made of except its shell: the controller's records are applied at
once, timers fire when the clock is moved, and work for other threads is done on the spot or,
with `hold`, when told.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from headrace.base.clock import ManualClock
from headrace.base.uuids import random_uuid
from headrace.broker.authorization import (
    ANONYMOUS,
    AllowAll,
    Authorizer,
)
from headrace.broker.cluster_view import ClusterView
from headrace.broker.context import ConnectionInfo
from headrace.broker.coordination.internal_topics import (
    OFFSETS_TOPIC,
    TRANSACTIONS_TOPIC,
    InternalTopics,
)
from headrace.broker.dispatcher import Dispatcher
from headrace.broker.fetch_sessions import FetchSessions
from headrace.broker.hosted_replicas import HostedReplicas, TopicConfigs
from headrace.broker.metrics import BrokerMetrics
from headrace.broker.partitions import Partitions
from headrace.broker.preparation import Preparation, Prepared, prepare
from headrace.broker.replica_logs import ReplicaLogs
from headrace.broker.time_lookups import Opened
from headrace.log.directories import DataDirectory
from headrace.log.log_manager import LogManager
from headrace.log.meta_properties import MetaProperties
from headrace.log.open_files import OpenFiles
from headrace.log.time_lookup import Candidate, open_candidate
from headrace.metadata import records as r
from headrace.metadata.controller.topics import create_topics
from headrace.metadata.features import default_levels
from headrace.metadata.record_codec import AnyRecord
from headrace.protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig
from headrace.protocol.schema import Request
from headrace.raft.voters import Voter
from headrace.replication.partition import Partition
from headrace.server import part_configs
from headrace.server.config import NodeConfig
from headrace.server.config_changes import controller_settings
from headrace.server.coordination import follow_groups, group_coordinators, offsets_topic
from headrace.server.serving import Services, broker_table, controller_table
from headrace.server.settings_in_force import SettingsInForce
from headrace.server.transaction_coordination import (
    BrokerIdentity,
    TransactionServices,
    producer_ids_of,
    transactions_topic,
)
from tests.unit.broker.fakes import NODE_ID, FakePlane, FakeScheduler
from tests.unit.broker.frames import Exchange, request_frame

CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"
LISTENER = "PLAINTEXT"


class Broker:
    """The broker under test."""

    def __init__(
        self,
        directory: Path,
        *,
        authorizer: Authorizer | None = None,
        overrides: Mapping[str, str] | None = None,
        directories: int = 1,
    ) -> None:
        self.clock = ManualClock()
        self.scheduler = FakeScheduler(self.clock)
        self.metrics = BrokerMetrics()
        self.partitions = Partitions()
        paths = [str(directory / f"data-{number}") for number in range(directories)]
        given = {"log.dirs": ",".join(paths), **(overrides or {})}
        self.config = NodeConfig.for_development(paths[0], overrides=given)
        self.directories = [_formatted(path) for path in paths]
        self.plane = FakePlane(Voter(NODE_ID))
        configs = TopicConfigs(self.config.topic_defaults)
        self.logs = LogManager(
            self.directories,
            config_for=lambda topic: configs.of(self.plane.image, topic),
            files=OpenFiles(64),
        )
        self.logs.load(self.clock.wall_ms())
        self.replica_logs = ReplicaLogs(
            self.logs, self.partitions, self.scheduler, self.clock, lambda checkpoints: None
        )
        self.replicas = HostedReplicas(
            NODE_ID, self.partitions, self.logs, configs, self.replica_logs
        )
        self.plane.apply(self._bootstrap())
        self.plane.listeners.append(self.replicas.metadata_changed)
        self.settings = SettingsInForce(self.config)
        self.groups = group_coordinators(
            part_configs.group_config(self.config.values),
            lambda: self.plane.image,
            self.scheduler,
            self.clock,
            broker_values=lambda: self.settings.values(self.plane.image),
        )
        plane: Any = self.plane
        follow_groups(self.groups, self.partitions, plane)
        self.transactions = TransactionServices(
            lambda: self.config.values,
            plane,
            self.partitions,
            self.groups,
            self.scheduler,
            self.clock,
            producer_ids_of(BrokerIdentity(NODE_ID, 7), plane),
        )
        self.transactions.follow(plane)
        self.sessions = FetchSessions(4, iter(range(1, 1 << 20)).__next__)
        services = self._services()
        self.table = broker_table(services)
        self.controller_table = controller_table(services)
        self.dispatcher = Dispatcher(self.table, self.metrics, self.clock)
        self.connection = ConnectionInfo(
            ANONYMOUS, authorizer or AllowAll(), LISTENER, "10.0.0.7", 4711, "10.0.0.1", 9092
        )

    def close(self) -> None:
        for log in self.logs.logs.values():
            log.close(clean=False)
        for one in self.directories:
            one.close()

    # Requests

    def send(
        self, request: Request, version: int | None = None, client_id: str = "tester"
    ) -> Exchange:
        """Send a request through the dispatcher, as bytes."""
        api = self.table.get(type(request).api_key)
        if version is None:
            assert api is not None
            version = api.version_max
        exchange = Exchange(request, version)
        frame = memoryview(bytearray(request_frame(request, version, client_id=client_id)))
        exchange.parked = self.dispatcher.serve(self.connection, frame, exchange.take)
        self.scheduler.settle()
        return exchange

    def ask(self, request: Request, version: int | None = None) -> Any:
        """The response to a request that is answered at once."""
        return self.send(request, version).response

    def advance(self, elapsed_ms: int) -> None:
        """Let time pass, timer by timer."""
        for _ in range(elapsed_ms):
            self.clock.advance(1)
            self.scheduler.fire_due()

    # State

    def create_topic(self, name: str, partitions: int = 1, **configs: str) -> bytes:
        """Settings with underscores for dots; returns the topic's id."""
        topic = CreatableTopic(
            name=name,
            num_partitions=partitions,
            replication_factor=1,
            configs=[
                CreatableTopicConfig(name=key.replace("_", "."), value=value)
                for key, value in configs.items()
            ],
        )
        replies: list[Any] = []
        settings = self._controller_settings
        self.plane.submit(lambda image: create_topics(image, settings, [topic]), replies.append)
        assert replies[0][0].error_code == 0, replies
        return self.plane.image.topics_by_name[name].topic_id

    def partition(self, topic: str, index: int = 0) -> Partition:
        return self.partitions.require(topic, index)

    # Pieces

    def _bootstrap(self) -> list[AnyRecord]:
        directory_ids = [one.directory_id for one in self.directories if one.directory_id]
        return [
            *(
                r.FeatureLevelRecord(name=name, feature_level=level)
                for name, level in default_levels().items()
            ),
            r.RegisterControllerRecord(
                controller_id=NODE_ID,
                incarnation_id=b"c" * 16,
                end_points=[r.ControllerEndpoint(name="CONTROLLER", host="host", port=9093)],
            ),
            r.RegisterBrokerRecord(
                broker_id=NODE_ID,
                incarnation_id=b"b" * 16,
                broker_epoch=7,
                end_points=[r.BrokerEndpoint(name=LISTENER, host="host", port=9092)],
                rack="r1",
                fenced=False,
                log_dirs=directory_ids,
            ),
        ]

    @property
    def _controller_settings(self) -> Any:
        return controller_settings(self.config, CLUSTER_ID)

    def _services(self) -> Services:
        config = part_configs.broker_config(self.config, CLUSTER_ID)
        plane: Any = self.plane
        return Services(
            config=self.config,
            settings=self.settings,
            broker_config=config,
            broker_epoch=7,
            clock=self.clock,
            scheduler=self.scheduler,
            metrics=self.metrics,
            partitions=self.partitions,
            logs=self.logs,
            plane=plane,
            controller_settings=self._controller_settings,
            cluster=ClusterView(plane, config),
            sessions=self.sessions,
            prepare_elsewhere=self._prepare,
            open_elsewhere=self._open,
            groups=self.groups,
            transactions=self.transactions,
            internal_topics=InternalTopics(
                self.plane,
                self._controller_settings,
                {
                    OFFSETS_TOPIC: offsets_topic(self.config.values),
                    TRANSACTIONS_TOPIC: transactions_topic(self.config.values),
                },
            ),
        )

    def _prepare(self, job: Preparation, done: Callable[[Prepared], None]) -> None:
        self.scheduler.elsewhere(lambda: done(prepare(job)))

    def _open(self, batch: Candidate, done: Callable[[Opened], None]) -> None:
        self.scheduler.elsewhere(lambda: done(open_candidate(batch)))


def _formatted(path: str) -> DataDirectory:
    directory = DataDirectory(path)
    directory.open()
    properties = MetaProperties(CLUSTER_ID, NODE_ID, random_uuid())
    directory.set_identity(properties, "#today")
    directory.create_checkpoints()
    return directory
