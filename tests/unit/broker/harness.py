"""A whole broker without sockets, threads or time: frames in, frames out, on a real directory.

Everything is what a node is made of except its shell: the controller's records are applied at
once, timers fire when the clock is moved, and work for other threads is done on the spot or,
with `hold`, when told.
"""

import heapq
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from struct import pack
from typing import Any, TypeVar

from headrace.base.clock import ManualClock
from headrace.base.errors import KafkaError
from headrace.base.uuids import random_uuid
from headrace.broker.authorization import (
    ANONYMOUS,
    AllowAll,
    Authorizer,
    Operation,
    Principal,
    ResourceType,
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
from headrace.broker.parked import Close, Parked
from headrace.broker.partitions import Partitions
from headrace.broker.preparation import Preparation, Prepared, prepare
from headrace.log.directories import DataDirectory
from headrace.log.log_manager import LogManager
from headrace.log.meta_properties import MetaProperties
from headrace.log.open_files import OpenFiles
from headrace.metadata import records as r
from headrace.metadata.controller.topics import create_topics
from headrace.metadata.delta import MetadataDelta
from headrace.metadata.features import default_levels
from headrace.metadata.image import EMPTY_IMAGE
from headrace.metadata.record_codec import AnyRecord
from headrace.protocol.apis import ApiKey, message_classes
from headrace.protocol.compiler import decode, encode
from headrace.protocol.headers import (
    RequestHeader,
    ResponseHeader,
    request_header_version,
    response_header_version,
)
from headrace.protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig
from headrace.protocol.schema import Field, Request, Response, Struct
from headrace.raft.machine import RaftMachine
from headrace.raft.messages import LogAppended, LogFlushed, Started
from headrace.raft.quorum_state import ElectionState
from headrace.raft.voters import Voter, VoterSet
from headrace.replication.partition import Partition
from headrace.server import part_configs
from headrace.server.config import NodeConfig
from headrace.server.coordination import follow_groups, group_coordinators, offsets_topic
from headrace.server.serving import Services, broker_table, controller_table
from headrace.server.transaction_coordination import (
    BrokerIdentity,
    TransactionServices,
    producer_ids_of,
    transactions_topic,
)

T = TypeVar("T")
NODE_ID = 1
CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"
LISTENER = "PLAINTEXT"


class DenyAll:
    """An authorizer that lets nobody do anything, but for what it is told to allow."""

    def __init__(self, *allowed: tuple[Operation, ResourceType, str]) -> None:
        self._allowed = set(allowed)

    def allows(
        self,
        principal: Principal,
        host: str,
        operation: Operation,
        resource: ResourceType,
        name: str,
    ) -> bool:
        return (operation, resource, name) in self._allowed

    def allows_any(
        self, principal: Principal, host: str, operation: Operation, resource: ResourceType
    ) -> bool:
        return any((operation, resource) == one[:2] for one in self._allowed)


class FakeTimer:
    """A timer that can be called off."""

    def __init__(self, callback: Callable[[], None]) -> None:
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        self.callback = None


class FakeScheduler:
    """`Scheduler` on a manual clock."""

    def __init__(self, clock: ManualClock) -> None:
        self.hold = False
        self.held: list[Callable[[], None]] = []
        self._clock = clock
        self._soon: list[Callable[[], None]] = []
        self._timers: list[tuple[float, int, FakeTimer]] = []
        self._numbers = count()

    @property
    def pending_timers(self) -> int:
        return sum(timer.callback is not None for _, _, timer in self._timers)

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> FakeTimer:
        timer = FakeTimer(callback)
        due_ms = self._clock.mono_ms() + delay_ms
        heapq.heappush(self._timers, (due_ms, next(self._numbers), timer))
        return timer

    def call_soon(self, callback: Callable[[], None]) -> None:
        self._soon.append(callback)

    def run_in_thread(
        self, work: Callable[[], T], done: Callable[[T | BaseException], None]
    ) -> None:
        def run() -> None:
            try:
                outcome: T | BaseException = work()
            except BaseException as error:
                outcome = error
            done(outcome)

        self.elsewhere(run)

    def elsewhere(self, run: Callable[[], None]) -> None:
        if self.hold:
            self.held.append(run)
        else:
            run()

    def release(self) -> None:
        """Do what was held back."""
        held, self.held = self.held, []
        for run in held:
            run()
        self.settle()

    def settle(self) -> None:
        while self._soon:
            self._soon.pop(0)()

    def fire_due(self) -> None:
        while self._timers and self._timers[0][0] <= self._clock.mono_ms():
            timer = heapq.heappop(self._timers)[2]
            if timer.callback is not None:
                timer.callback()
            self.settle()


class FakePlane:
    """The controller of a quorum of one whose disk is infinitely fast."""

    def __init__(self, voter: Voter) -> None:
        self.image = EMPTY_IMAGE
        self.listeners: list[Callable[[Any, Any], None]] = []
        self.raft = RaftMachine(
            NODE_ID, VoterSet.of([voter]), ElectionState(), log_end_offset=0, log_last_epoch=0
        )
        self.raft.handle(Started())
        self.log_end_offset = 0

    def subscribe(self, listener: Callable[[Any, Any], None]) -> None:
        self.listeners.append(listener)

    def apply(self, records: list[AnyRecord]) -> None:
        delta = MetadataDelta(self.image)
        for record in records:
            delta.replay(record)
        self.log_end_offset += len(records)
        self.raft.handle(LogAppended(self.log_end_offset))
        self.raft.handle(LogFlushed(self.log_end_offset))
        offset = self.log_end_offset - 1
        self.image, changes = delta.apply(offset=offset, epoch=1, timestamp_ms=5)
        for listener in self.listeners:
            listener(changes, self.image)

    def submit(self, command: Callable[[Any], Any], done: Callable[[Any], None]) -> None:
        try:
            result = command(self.image)
        except KafkaError as error:
            done(error)
            return
        if result.records:
            self.apply(result.records)
        done(result.reply)


class Exchange:
    """One request and what became of it."""

    def __init__(self, request: Request, version: int) -> None:
        self.request = request
        self.version = version
        self.parked: Parked | None = None
        self.raw: list[bytes | Close | None] = []

    @property
    def is_answered(self) -> bool:
        return bool(self.raw)

    @property
    def response(self) -> Any:
        """The decoded response; None for acks=0; `Close` for the end of the connection."""
        assert len(self.raw) == 1, f"{len(self.raw)} replies"
        raw = self.raw[0]
        if raw is None or isinstance(raw, Close):
            return raw
        return decode_response(type(self.request).api_key, self.version, raw)[1]

    def take(self, reply: Any) -> None:
        self.raw.append(b"".join(reply) if isinstance(reply, list) else reply)


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
        self.replicas = HostedReplicas(
            NODE_ID, self.partitions, self.logs, configs, self.clock, lambda checkpoints: None
        )
        self.plane.apply(self._bootstrap())
        self.plane.listeners.append(self.replicas.metadata_changed)
        self.groups = group_coordinators(
            part_configs.group_config(self.config.values),
            lambda: self.plane.image,
            self.scheduler,
            self.clock,
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

    def send(self, request: Request, version: int | None = None) -> Exchange:
        """Send a request through the dispatcher, as bytes."""
        api = self.table.get(type(request).api_key)
        if version is None:
            assert api is not None
            version = api.version_max
        exchange = Exchange(request, version)
        frame = memoryview(bytearray(request_frame(request, version)))
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
        return part_configs.controller_settings(self.config, CLUSTER_ID)

    def _services(self) -> Services:
        config = part_configs.broker_config(self.config, CLUSTER_ID)
        plane: Any = self.plane
        return Services(
            config=self.config,
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


def _formatted(path: str) -> DataDirectory:
    directory = DataDirectory(path)
    directory.open()
    properties = MetaProperties(CLUSTER_ID, NODE_ID, random_uuid())
    directory.set_identity(properties, "#today")
    directory.create_checkpoints()
    return directory


def request_frame(
    request: Request, version: int, *, correlation_id: int = 77, client_id: str | None = "tester"
) -> bytes:
    """Header and request, as the connection hands them to the dispatcher."""
    cls = type(request)
    header = RequestHeader(
        request_api_key=cls.api_key,
        request_api_version=version,
        correlation_id=correlation_id,
        client_id=client_id,
    )
    return encode(header, request_header_version(cls, version)) + encode(request, version)


def decode_response(key: int, version: int, raw: bytes) -> tuple[int, Response]:
    """(correlation id, response) of what went out, whose length must be what it says."""
    response_class = message_classes(ApiKey(key))[1]
    assert raw[:4] == pack(">i", len(raw) - 4)
    header_version = response_header_version(response_class, version)
    size = 4 + len(encode(ResponseHeader(), header_version))
    header = decode(ResponseHeader, header_version, raw[4:size])
    return header.correlation_id, decode(response_class, version, raw[size:])


def error_codes(struct: Struct) -> set[int]:
    """Every error code in a response, wherever it is."""
    found: set[int] = set()
    for name, field in struct.fields.items():
        value = getattr(struct, name)
        if name in ("error_code", "partition_error_code") and value:
            found.add(value)
        elif field.kind == "struct" and value is not None:
            found |= error_codes(value)
        elif field.kind == "array" and _holds_structs(field):
            for item in value or ():
                found |= error_codes(item)
    return found


def _holds_structs(field: Field) -> bool:
    return field.element is not None and field.element.struct is not None
