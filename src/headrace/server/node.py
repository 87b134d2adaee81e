"""One node: broker and controller in one process. The composition root, to be read downwards."""

from __future__ import annotations

import asyncio
import logging
import secrets
import socket
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headrace.base.clock import Clock, SystemClock
from headrace.base.errors import KafkaError
from headrace.base.settings.topic import topic_defaults
from headrace.base.uuids import random_uuid
from headrace.broker.authorization import AllowAll
from headrace.broker.cluster_view import ClusterView
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
from headrace.log.checkpoints import CheckpointError
from headrace.log.directories import DataDirectory
from headrace.log.directory_identity import open_directories
from headrace.log.log_manager import LogManager
from headrace.log.open_files import OpenFiles, process_limit
from headrace.metadata.changes import MetadataChanges
from headrace.metadata.image import ConfigResource, EndpointImage, MetadataImage
from headrace.server import part_configs
from headrace.server.config import NodeConfig
from headrace.server.consumer_groups import consumer_group_config
from headrace.server.coordination import follow_groups, group_coordinators, offsets_topic
from headrace.server.file_limit import connections_that_fit
from headrace.server.helper_process import HelperDiedError, HelperProcess
from headrace.server.listener import ConnectionCounts, Listener
from headrace.server.maintenance import Maintenance
from headrace.server.metadata_start import NodeRegistration, activate, open_metadata_plane
from headrace.server.recovery import recover_in_processes
from headrace.server.scheduler import LoopScheduler
from headrace.server.serving import Services, broker_layers, broker_table, controller_table
from headrace.server.sockets import bind
from headrace.server.transaction_coordination import (
    BrokerIdentity,
    TransactionServices,
    producer_ids_of,
    transactions_topic,
)

if TYPE_CHECKING:
    from headrace.server.http_status import StatusServer

logger = logging.getLogger(__name__)

_SECURITY_PROTOCOLS = {"PLAINTEXT": 0, "SSL": 1, "SASL_PLAINTEXT": 2, "SASL_SSL": 3}


class Node:
    """A running node. `start` and `stop` once each, on the same loop."""

    def __init__(self, config: NodeConfig, clock: Clock | None = None) -> None:
        self.config = config
        self.clock = clock or SystemClock()
        self.metrics = BrokerMetrics()
        self.partitions = Partitions()
        self.listeners: list[Listener] = []
        #: Metrics and health, where they are asked for.
        self.status: StatusServer | None = None
        self.directories: list[DataDirectory] = []
        self._sockets: list[socket.socket] = []
        self._preparing: set[asyncio.Task[None]] = set()
        #: Set when the node cannot go on: the reason, for whoever runs it.
        self.failed: asyncio.Future[str] | None = None

    async def start(self) -> None:
        """From the data directories to open listeners; raises with one sentence if it cannot."""
        try:
            await self._start()
        except BaseException:
            self._let_go()
            raise

    async def _start(self) -> None:
        config, clock = self.config, self.clock
        loop = asyncio.get_running_loop()
        self.failed = loop.create_future()
        self.scheduler = LoopScheduler(loop)
        sockets = [
            (listener, self._bind(listener.host, listener.port)) for listener in config.listeners
        ]
        metrics_socket = self._bind(*config.metrics_listener) if config.metrics_listener else None

        # Data directories and the metadata log.
        self.directories = open_directories(
            list(config.log_dirs), node_id=config.node_id, written=date_line(clock.wall_ms())
        )
        properties = next(d.properties for d in self.directories if d.properties is not None)
        self.cluster_id = properties.cluster_id
        stops = [d.take_clean_shutdown() for d in self.directories if d.online]
        was_clean = all(clean for clean, _ in stops)
        files = OpenFiles.for_process()
        self.plane, loaded = open_metadata_plane(
            part_configs.metadata_config(config), files=files, clock=clock, clean=was_clean
        )
        self.controller_settings = replace(
            part_configs.controller_settings(config, self.cluster_id), chance=secrets.randbelow
        )
        self.broker_epoch = activate(
            self.plane,
            loaded,
            self.controller_settings,
            NodeRegistration(
                incarnation_id=random_uuid(),
                broker_endpoints=self._endpoints(sockets, for_controller=False),
                controller_endpoints=self._endpoints(sockets, for_controller=True),
                directory_ids=tuple(d.directory_id for d in self.directories if d.directory_id),
                rack=config.rack,
                previous_broker_epoch=min(epoch for _, epoch in stops) if was_clean else -1,
            ),
        )
        self.plane.on_failure = self._fail

        # The partitions.
        topic_configs = TopicConfigs(self._topic_defaults(self.plane.image))
        self.logs = LogManager(
            self.directories,
            config_for=lambda topic: topic_configs.of(self.plane.image, topic),
            files=files,
            config=part_configs.log_manager_config(config.values),
        )
        self.logs.cordoned = config.cordoned_log_dirs
        self.logs.on_lost.append(lambda _: self._require_metadata_directory())
        loaded_logs = self.logs.load(clock.wall_ms(), recover_in_processes)
        for content in loaded_logs.values():
            for warning in content.warnings:
                logger.warning("%s", warning)
        self.cleaner = HelperProcess("cleaner")
        self.batch_helper = HelperProcess("batch")
        self.maintenance = Maintenance(
            self.logs,
            self.partitions,
            self.scheduler,
            clock,
            part_configs.maintenance_config(config.values),
            self.cleaner,
        )
        self.maintenance.on_no_directory_left = self._give_up
        self.replicas = HostedReplicas(
            config.node_id,
            self.partitions,
            self.logs,
            topic_configs,
            clock,
            self.maintenance.write_soon,
        )
        self.replicas.start(self.plane.image, self._stored_high_watermarks())
        self.plane.subscribe(self.replicas.metadata_changed)
        self.plane.subscribe(self._broker_settings_changed)
        self.replicas.on_removed.append(lambda gone: self.metrics.forget_topic(gone.topic))

        # The coordinators.
        self.groups = group_coordinators(
            part_configs.group_config(config.values),
            lambda: self.plane.image,
            self.scheduler,
            clock,
            consumer_config=consumer_group_config(config.values),
        )
        follow_groups(self.groups, self.partitions, self.plane)
        self.transactions = TransactionServices(
            lambda: broker_layers(config, self.plane.image).values(),
            self.plane,
            self.partitions,
            self.groups,
            self.scheduler,
            clock,
            producer_ids_of(BrokerIdentity(config.node_id, self.broker_epoch), self.plane),
        )
        self.transactions.follow(self.plane)
        internal_topics = InternalTopics(
            self.plane,
            self.controller_settings,
            {
                OFFSETS_TOPIC: offsets_topic(config.values),
                TRANSACTIONS_TOPIC: transactions_topic(config.values),
            },
        )

        # Serving.
        broker_config = part_configs.broker_config(config, self.cluster_id)
        self.sessions = FetchSessions(
            broker_config.fetch_session_slots, lambda: secrets.randbelow(2**31 - 1) + 1
        )
        services = Services(
            config=config,
            broker_config=broker_config,
            broker_epoch=self.broker_epoch,
            clock=clock,
            scheduler=self.scheduler,
            metrics=self.metrics,
            partitions=self.partitions,
            logs=self.logs,
            plane=self.plane,
            controller_settings=self.controller_settings,
            cluster=ClusterView(self.plane, broker_config),
            sessions=self.sessions,
            prepare_elsewhere=self._prepare_elsewhere,
            groups=self.groups,
            transactions=self.transactions,
            internal_topics=internal_topics,
        )
        limits = part_configs.connection_limits(config.values)
        counts = ConnectionCounts(limits, connections_that_fit(process_limit(), files.limit))
        dispatchers = {
            False: Dispatcher(broker_table(services), self.metrics, clock),
            True: Dispatcher(controller_table(services), self.metrics, clock),
        }
        for listener, sock in sockets:
            self.listeners.append(
                Listener(
                    listener.name,
                    sock,
                    dispatcher=dispatchers[listener.for_controller],
                    authorizer=AllowAll(),
                    limits=limits,
                    counts=counts,
                    clock=clock,
                    metrics=self.metrics,
                )
            )
        for open_listener in self.listeners:
            await open_listener.start()
        if metrics_socket is not None:
            # Few nodes of a test run are watched, so what only the pages need is loaded here.
            from headrace.server.http_status import StatusServer
            from headrace.server.status_pages import StatusPages

            self.status = StatusServer(metrics_socket, StatusPages(self).pages)
            await self.status.start()
        self.maintenance.start()
        self.plane.start_idle_records()

    async def stop(self) -> None:
        """A controlled shutdown: clients first, then the logs, the metadata log last."""
        if self.status is not None:
            await self.status.stop()
        for listener in self.listeners:
            await listener.stop()
        self.transactions.close()
        self.groups.coordinators.close()
        await self.batch_helper.close()
        await self.plane.close()
        await self.maintenance.stop(self.broker_epoch)
        self.scheduler.close()

    @property
    def bootstrap(self) -> str:
        """`host:port` of the first listener that clients may use."""
        names = {listener.name for listener in self.config.listeners if listener.for_controller}
        for listener in self.listeners:
            if listener.name not in names:
                host = listener.host if listener.host not in ("0.0.0.0", "::") else "localhost"  # noqa: S104
                return f"{host}:{listener.port}"
        return ""

    # Pieces of the above

    def _bind(self, host: str | None, port: int) -> socket.socket:
        bound = bind(host, port)
        self._sockets.append(bound)
        return bound

    def _let_go(self) -> None:
        """After a start that failed: others may have the ports and the directories."""
        for bound in self._sockets:
            bound.close()
        for directory in self.directories:
            directory.close()
        self.scheduler.close()

    def _topic_defaults(self, image: MetadataImage) -> dict[str, str]:
        return topic_defaults(broker_layers(self.config, image).values())

    def _broker_settings_changed(self, changes: MetadataChanges, image: MetadataImage) -> None:
        """Somebody changed a broker setting while we run: topics without their own follow it."""
        if any(kind == ConfigResource.BROKER for kind, _ in changes.configs):
            self.replicas.defaults_changed(self._topic_defaults(image), image)

    def _endpoints(
        self, sockets: list[tuple[Any, Any]], *, for_controller: bool
    ) -> tuple[EndpointImage, ...]:
        return tuple(
            EndpointImage(
                listener.name,
                listener.advertised_host or registered_host(listener.host),
                listener.advertised_port or sock.getsockname()[1],
                _SECURITY_PROTOCOLS[listener.security_protocol],
            )
            for listener, sock in sockets
            if listener.for_controller == for_controller
        )

    def _stored_high_watermarks(self) -> dict[tuple[str, int], int]:
        stored: dict[tuple[str, int], int] = {}
        for directory in self.logs.online:
            try:
                stored.update(directory.high_watermarks.read())
            except CheckpointError as error:
                logger.warning("%s", error)
        return stored

    def _prepare_elsewhere(self, job: Preparation, done: Callable[[Prepared], None]) -> None:
        async def run() -> None:
            try:
                outcome = await self.batch_helper.run("prepare", job)
            except HelperDiedError:
                # Better here than not at all; the next batch gets a new process.
                outcome = await self.scheduler.in_thread(lambda: prepare(job))
            done(outcome)

        task = asyncio.get_running_loop().create_task(run())
        self._preparing.add(task)
        task.add_done_callback(self._preparing.discard)

    def _require_metadata_directory(self) -> None:
        """Without its directory the metadata log would promise what no restart finds again."""
        for directory in self.directories:
            if directory.path == self.config.metadata_log_dir and not directory.online:
                self._give_up(f"The metadata log is lost with its directory: {directory.failure}")

    def _fail(self, error: BaseException) -> None:
        self._give_up(error.message if isinstance(error, KafkaError) else str(error))

    def _give_up(self, reason: str) -> None:
        if self.failed is not None and not self.failed.done():
            self.failed.set_result(reason)


def date_line(now_ms: int) -> str:
    """The date as Java's Properties.store writes it."""
    return time.strftime("%a %b %d %H:%M:%S UTC %Y", time.gmtime(now_ms / 1000))


def registered_host(host: str | None) -> str:
    """The host that other nodes find in the registration when none is advertised."""
    return host if host and host not in ("0.0.0.0", "::") else socket.gethostname()  # noqa: S104
