"""One node: broker and controller in one process. The composition root, to be read downwards."""

from __future__ import annotations

import asyncio
import logging
import secrets
import socket
import threading
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from headrace.base.clock import Clock, SystemClock
from headrace.base.errors import KafkaError
from headrace.base.settings.topic import topic_defaults
from headrace.base.settings.typed import Values
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
from headrace.broker.replica_logs import ReplicaLogs
from headrace.log.checkpoints import CheckpointError
from headrace.log.directories import DataDirectory
from headrace.log.log_manager import LogManager
from headrace.log.open_files import OpenFiles, process_limit
from headrace.metadata.changes import MetadataChanges
from headrace.metadata.image import ConfigResource, MetadataImage
from headrace.server import node_events, part_configs
from headrace.server.batch_preparation import BatchPreparation
from headrace.server.brief_polling import NO_POLLING, BriefPolling, may_poll
from headrace.server.config import NodeConfig
from headrace.server.config_changes import controller_settings
from headrace.server.connection_limits import ConnectionCounts, ListenerCounts
from headrace.server.consumer_groups import consumer_group_config
from headrace.server.coordination import (
    follow_groups,
    group_coordinators,
    lead_recovered,
    offsets_topic,
)
from headrace.server.dynamic_settings import DynamicSettings, cordoned_ids
from headrace.server.file_limit import connections_that_fit, rooms
from headrace.server.helper_process import HelperProcess
from headrace.server.listener import Listener
from headrace.server.listener_config import ListenerConfig, is_wildcard
from headrace.server.maintenance import Maintenance
from headrace.server.metadata_start import NodeRegistration, activate, open_metadata_plane
from headrace.server.node_directories import NodeDirectories, open_node_directories
from headrace.server.recovery import StartStoppedError, recover_in_processes
from headrace.server.registered_endpoints import date_line, registered_endpoints
from headrace.server.request_memory import RequestMemory
from headrace.server.scheduler import LoopScheduler
from headrace.server.serving import Services, broker_table, controller_table
from headrace.server.settings_in_force import SettingsInForce
from headrace.server.sockets import bind
from headrace.server.stored_settings import unreadable_settings
from headrace.server.transaction_coordination import (
    BrokerIdentity,
    TransactionServices,
    producer_ids_of,
    transactions_topic,
)

if TYPE_CHECKING:
    from headrace.server.http_status import StatusServer
    from headrace.server.status_pages import StatusPages

logger = logging.getLogger(__name__)


class Node:
    """A running node. `start` and `stop` once each, on the same loop."""

    def __init__(
        self, config: NodeConfig, clock: Clock | None = None, *, has_own_process: bool = False
    ) -> None:
        """In a process that it shares, a node takes no more of the interpreter than it must."""
        self.config = config
        self.settings = SettingsInForce(config)
        self.clock = clock or SystemClock()
        self._has_own_process = has_own_process
        self.metrics = BrokerMetrics()
        self.partitions = Partitions()
        self.listeners: list[Listener] = []
        #: Metrics and health, where they are asked for.
        self.status: StatusServer | None = None
        self.directories: list[DataDirectory] = []
        self._opened: NodeDirectories | None = None
        self._stop_asked = threading.Event()
        self._sockets: list[socket.socket] = []
        self._bound: list[tuple[ListenerConfig, socket.socket]] = []
        #: Set when the node cannot go on: the reason, for whoever runs it.
        self.failed: asyncio.Future[str] | None = None

    async def start(self) -> None:
        """From the data directories to open listeners; raises with one sentence if it cannot."""
        try:
            await self._start()
        except BaseException:
            await self._let_go()
            raise

    def ask_to_stop(self) -> None:
        """Let a start that is still loading logs end with `StartStoppedError`; from any thread."""
        self._stop_asked.set()

    async def _start(self) -> None:
        began_ms = self.clock.mono_ms()
        node_events.tell_start(self.config)
        self.failed = asyncio.get_running_loop().create_future()
        self.scheduler = LoopScheduler(asyncio.get_running_loop())
        self.files = OpenFiles.for_process()
        # Sockets first: a port that the system chose is part of the registration.
        self._bound = [
            (listener, self._bind(listener.host, listener.port))
            for listener in self.config.listeners
        ]
        pages = await self._open_status_pages()
        self._lead_metadata()
        await self._host_partitions()
        self._coordinate()
        await self._listen()
        if pages is not None:
            pages.node_is_up()
        self.maintenance.start()
        self.plane.start_idle_records()
        node_events.tell_started(self.plane.image, self.clock.mono_ms() - began_ms)

    async def _open_status_pages(self) -> StatusPages | None:
        """Before all that may take long: whoever watches shall see that the node lives."""
        address = self.config.metrics_listener
        if address is None:
            return None
        # Few nodes of a test run are watched, so what only the pages need is loaded here.
        from headrace.server.http_status import StatusServer
        from headrace.server.status_pages import StatusPages

        pages = StatusPages(self)
        self.status = StatusServer(self._bind(*address), pages.pages)
        await self.status.start()
        return pages

    def _lead_metadata(self) -> None:
        """Data directories and the metadata log: this node leads it, and is registered in it."""
        config, clock = self.config, self.clock
        self._opened = open_node_directories(
            config.log_dirs,
            config.metadata_log_dir,
            node_id=config.node_id,
            written=date_line(clock.wall_ms()),
        )
        self.directories = self._opened.data
        self.metadata_directory = self._opened.metadata
        self.cluster_id = self._opened.cluster_id
        stops = [d.take_clean_shutdown() for d in self.directories if d.online]
        was_clean = all(clean for clean, _ in stops)
        self.plane, loaded = open_metadata_plane(
            part_configs.metadata_config(config), files=self.files, clock=clock, clean=was_clean
        )
        cordoned = config.cordoned(self.settings.values(loaded.image))
        self.controller_settings = replace(
            controller_settings(config, self.cluster_id), chance=secrets.randbelow
        )
        self.broker_epoch = activate(
            self.plane,
            loaded,
            self.controller_settings,
            NodeRegistration(
                incarnation_id=random_uuid(),
                broker_endpoints=registered_endpoints(self._bound, for_controller=False),
                controller_endpoints=registered_endpoints(self._bound, for_controller=True),
                directory_ids=tuple(d.directory_id for d in self.directories if d.directory_id),
                cordoned_directory_ids=cordoned_ids(self.directories, cordoned),
                rack=config.rack,
                previous_broker_epoch=min(epoch for _, epoch in stops) if was_clean else -1,
            ),
        )
        self.plane.on_failure = self._fail
        layers = self.settings.layers(self.plane.image)
        unreadable = unreadable_settings(self.plane.image, config.node_id)
        node_events.tell_metadata(self.cluster_id, self.plane.image, layers, unreadable)

    async def _host_partitions(self) -> None:
        """The logs on the disks, and what keeps them in step with the metadata and in shape."""
        config, clock = self.config, self.clock
        values = self._values_now()
        topic_configs = TopicConfigs(topic_defaults(values))
        self.logs = LogManager(
            self.directories,
            config_for=lambda topic: topic_configs.of(self.plane.image, topic),
            files=self.files,
            config=part_configs.log_manager_config(values),
        )
        self.logs.cordoned = config.cordoned(values)
        self.logs.on_lost.append(lambda _: self._require_metadata_directory())
        await self._load_logs()
        self.logs.on_offline.append(node_events.tell_offline)
        self.logs.on_deleted.append(node_events.tell_deleted)
        self.logs.on_compacted.append(node_events.tell_compacted)
        self.cleaner = HelperProcess("cleaner")
        self.maintenance = Maintenance(
            self.logs,
            self.partitions,
            self.scheduler,
            clock,
            part_configs.maintenance_config(values),
            self.cleaner,
        )
        self.maintenance.on_no_directory_left = self._give_up
        self.replica_logs = ReplicaLogs(
            self.logs, self.partitions, self.scheduler, clock, self.maintenance.write_soon
        )
        self.maintenance.look_after(self.replica_logs)
        self.replicas = HostedReplicas(
            config.node_id, self.partitions, self.logs, topic_configs, self.replica_logs
        )
        self.replicas.start(self.plane.image, self._stored_high_watermarks())
        self.plane.subscribe(self.replicas.metadata_changed)
        self.plane.subscribe(self._broker_settings_changed)
        self.plane.subscribe(node_events.tell_topics)
        self.replicas.on_removed.append(lambda gone: self.metrics.forget_topic(gone.topic))

    async def _load_logs(self) -> None:
        """In a thread, since after a crash it may take minutes; nothing else knows the logs yet."""
        recover = node_events.told_recovery(
            partial(recover_in_processes, go_on=self._require_wanted), self.clock
        )
        now_ms = self.clock.wall_ms()
        loaded = await self.scheduler.in_thread(
            lambda: self.logs.load(now_ms, recover, self._require_wanted)
        )
        node_events.tell_loaded(self.directories, loaded)
        self._require_metadata_directory()

    def _require_wanted(self) -> None:
        if self._stop_asked.is_set():
            raise StartStoppedError("The node was asked to stop before its logs were loaded.")

    def _coordinate(self) -> None:
        """The coordinators of groups and transactions, behind the partitions of their topics."""
        config, clock = self.config, self.clock
        self.groups = group_coordinators(
            part_configs.group_config(config.values),
            lambda: self.plane.image,
            self.scheduler,
            clock,
            broker_values=self._values_now,
            consumer_config=consumer_group_config(config.values),
        )
        follow_groups(self.groups, self.partitions, self.plane)
        self.transactions = TransactionServices(
            self._values_now,
            self.plane,
            self.partitions,
            self.groups,
            self.scheduler,
            clock,
            producer_ids_of(BrokerIdentity(config.node_id, self.broker_epoch), self.plane),
        )
        self.transactions.follow(self.plane)
        self.internal_topics = InternalTopics(
            self.plane,
            self.controller_settings,
            {
                OFFSETS_TOPIC: offsets_topic(config.values),
                TRANSACTIONS_TOPIC: transactions_topic(config.values),
            },
        )
        lead_recovered(self.groups.coordinators, self.replica_logs)
        lead_recovered(self.transactions.transactions.coordinators, self.replica_logs)

    async def _listen(self) -> None:
        """The tables of APIs, and the sockets that serve them."""
        config, clock = self.config, self.clock
        broker_config = part_configs.broker_config(config, self.cluster_id)
        self.sessions = FetchSessions(
            broker_config.fetch_session_slots, lambda: secrets.randbelow(2**31 - 1) + 1
        )
        self.preparation = BatchPreparation()
        services = Services(
            config=config,
            settings=self.settings,
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
            prepare_elsewhere=self.preparation.prepare,
            open_elsewhere=self.preparation.open,
            groups=self.groups,
            transactions=self.transactions,
            internal_topics=self.internal_topics,
        )
        limits = part_configs.connection_limits(self._values_now())
        # Apart, so that no crowd of clients keeps an operator from the controller.
        room = rooms(connections_that_fit(process_limit(), self.files.limit))
        counts = {kind: ConnectionCounts(limits, room[kind]) for kind in room}
        memory = {kind: RequestMemory(limits.queued_bytes_max) for kind in room}
        own_counts = {listener: ListenerCounts(listener.name) for listener, _ in self._bound}
        settings = DynamicSettings(
            config,
            self.settings,
            BrokerIdentity(config.node_id, self.broker_epoch),
            self.plane,
            self.logs,
            self.maintenance,
            tuple(counts.values()),
            own_counts,
        )
        settings.limit_connections(self.plane.image)
        self.plane.subscribe(settings.metadata_changed)
        polling = NO_POLLING
        if self._has_own_process and may_poll():
            call_soon = asyncio.get_running_loop().call_soon
            polling = BriefPolling(part_configs.poll_us(config), call_soon)
        dispatchers = {
            False: Dispatcher(broker_table(services), self.metrics, clock),
            True: Dispatcher(controller_table(services), self.metrics, clock),
        }
        for listener, sock in self._bound:
            self.listeners.append(
                Listener(
                    listener.name,
                    sock,
                    dispatcher=dispatchers[listener.for_controller],
                    authorizer=AllowAll(),
                    limits=limits,
                    counts=counts[listener.for_controller],
                    memory=memory[listener.for_controller],
                    clock=clock,
                    metrics=self.metrics,
                    polling=polling,
                    own_counts=own_counts[listener],
                    backlog=part_configs.socket_options(config).backlog,
                )
            )
        for open_listener in self.listeners:
            await open_listener.start()

    async def stop(self) -> None:
        """A controlled shutdown: clients first, then the logs, the metadata log last."""
        began_ms = self.clock.mono_ms()
        if self.status is not None:
            await self.status.stop()
        for listener in self.listeners:
            await listener.stop()
        self.transactions.close()
        self.groups.coordinators.close()
        await self.preparation.close()
        if not await self.plane.close():
            # The marks of all directories together vouch for the metadata log as well.
            self.logs.complete.clear()
        self.replica_logs.close()
        await self.maintenance.stop(self.broker_epoch)
        self.metadata_directory.close()
        self.scheduler.close()
        node_events.tell_stopped(self.directories, self.clock.mono_ms() - began_ms)

    @property
    def bootstrap(self) -> str:
        """`host:port` of the first listener that clients may use."""
        names = {listener.name for listener in self.config.listeners if listener.for_controller}
        for listener in self.listeners:
            if listener.name not in names:
                host = "localhost" if is_wildcard(listener.host) else listener.host
                return f"{host}:{listener.port}"
        return ""

    # Pieces of the above

    def _bind(self, host: str | None, port: int) -> socket.socket:
        bound = bind(host, port, part_configs.socket_options(self.config))
        self._sockets.append(bound)
        return bound

    async def _let_go(self) -> None:
        """After a start that failed: others may have the ports and the directories."""
        if self.status is not None:
            await self.status.stop()
        for bound in self._sockets:
            bound.close()
        # A start that was cancelled may leave a thread at work on the logs: the directories are
        # free when it has ended.
        self._stop_asked.set()
        self.scheduler.close()
        if self._opened is not None:
            self._opened.close()

    def _values_now(self) -> Values:
        """The settings in force; some change while we run."""
        return self.settings.values(self.plane.image)

    def _broker_settings_changed(self, changes: MetadataChanges, image: MetadataImage) -> None:
        """Somebody changed a broker setting while we run: topics without their own follow it."""
        if any(kind == ConfigResource.BROKER for kind, _ in changes.configs):
            self.replicas.defaults_changed(topic_defaults(self.settings.values(image)), image)

    def _stored_high_watermarks(self) -> dict[tuple[str, int], int]:
        stored: dict[tuple[str, int], int] = {}
        for directory in self.logs.online:
            try:
                stored.update(directory.high_watermarks.read())
            except CheckpointError as error:
                logger.warning("%s", error)
        return stored

    def _require_metadata_directory(self) -> None:
        """Without its directory the metadata log would promise what no restart finds again."""
        directory = self.metadata_directory
        if not directory.online:
            self._give_up(f"The metadata log is lost with its directory: {directory.failure}")

    def _fail(self, error: BaseException) -> None:
        self._give_up(error.message if isinstance(error, KafkaError) else str(error))

    def _give_up(self, reason: str) -> None:
        if self.failed is not None and not self.failed.done():
            self.failed.set_result(reason)
