"""How a node's metadata plane comes up: load, win the election, register, be unfenced.

All of it is written before anything is served and reaches the disk with one fsync of the log (and
one of quorum-state), so an empty node has its image in a few milliseconds.
"""

from dataclasses import dataclass, field
from typing import Any

from headrace.base.checks import InvariantBrokenError
from headrace.base.clock import Clock
from headrace.log.open_files import OpenFiles
from headrace.metadata.bootstrap import activation_records
from headrace.metadata.controller import brokers
from headrace.metadata.controller.registration import register_broker, register_controller
from headrace.metadata.controller.settings import ControllerSettings
from headrace.metadata.features import CONTROLLER_REGISTRATION_LEVEL, SUPPORTED
from headrace.metadata.image import EndpointImage, MetadataImage
from headrace.metadata.records import AbortTransactionRecord
from headrace.metadata.snapshot_policy import SnapshotPolicy
from headrace.protocol.messages import broker_registration, controller_registration
from headrace.raft.machine import RaftMachine
from headrace.raft.voters import Voter, VoterSet
from headrace.server.metadata_plane import MetadataPlane
from headrace.server.metadata_snapshots import SnapshotMaker
from headrace.server.metadata_store import LoadedMetadata, MetadataStore


@dataclass(frozen=True, slots=True)
class MetadataConfig:
    """The settings of the metadata log; field names follow Kafka's."""

    node_id: int
    #: `metadata.log.dir`, or the first of `log.dirs`.
    data_directory: str
    #: The ids in `controller.quorum.voters`; used while kraft.version is 0.
    voter_ids: tuple[int, ...]
    segment_bytes: int = 1_073_741_824
    segment_ms: int = 604_800_000
    snapshots: SnapshotPolicy = field(default_factory=SnapshotPolicy)
    #: `metadata.max.idle.interval.ms`; 0 writes no NoOps, and so does a node that is alone.
    idle_interval_ms: int = 0


@dataclass(frozen=True, slots=True)
class NodeRegistration:
    """How this process presents itself to the cluster."""

    incarnation_id: bytes
    broker_endpoints: tuple[EndpointImage, ...]
    controller_endpoints: tuple[EndpointImage, ...]
    #: The directory ids of `log.dirs`.
    directory_ids: tuple[bytes, ...]
    #: Those of `cordoned.log.dirs`.
    cordoned_directory_ids: tuple[bytes, ...] = ()
    rack: str | None = None
    #: From `.kafka_cleanshutdown`; -1 after a crash.
    previous_broker_epoch: int = -1


def open_metadata_plane(
    config: MetadataConfig, *, files: OpenFiles, clock: Clock, clean: bool
) -> tuple[MetadataPlane, LoadedMetadata]:
    """Read the metadata log; `clean` says that the node was stopped in order."""
    store = MetadataStore(
        config.data_directory,
        files,
        segment_bytes=config.segment_bytes,
        segment_ms=config.segment_ms,
    )
    loaded = store.load(clean=clean, now_ms=clock.wall_ms())
    _check_features(loaded.image)
    voters = loaded.quorum.voters
    if voters is None:
        voters = VoterSet.of(Voter(voter_id) for voter_id in config.voter_ids)
    raft = RaftMachine(
        config.node_id,
        voters,
        loaded.election,
        log_end_offset=store.log.log_end_offset,
        log_last_epoch=max(loaded.image.epoch, store.log.leader_epochs.latest_epoch),
        kraft_version=loaded.quorum.kraft_version,
        log_has_voters=loaded.log_has_voters,
    )
    snapshots = SnapshotMaker(
        store, config.snapshots, clock, bytes_so_far=loaded.bytes_after_snapshot
    )
    plane = MetadataPlane(
        store, raft, loaded, clock, snapshots, idle_interval_ms=config.idle_interval_ms
    )
    return plane, loaded


def _check_features(image: MetadataImage) -> None:
    for name, level in image.features.items():
        low, high = SUPPORTED.get(name, (0, 0))
        if not low <= level <= high:
            raise InvariantBrokenError(
                f"the cluster has {name} at level {level}, but this node supports only levels"
                f" {low} to {high}"
            )


def activate(
    plane: MetadataPlane,
    loaded: LoadedMetadata,
    settings: ControllerSettings,
    registration: NodeRegistration,
) -> int:
    """Become the leader, register this node and unfence it; returns its broker epoch."""
    node_id = plane.raft.node_id
    plane.become_leader()
    if not loaded.has_records:
        records = activation_records(
            plane.read_bootstrap(),
            settings.min_insync_replicas,
            aborts_partial=loaded.transaction is not None,
        )
        plane.write_now(records)
    elif loaded.transaction is not None:
        plane.write_now([AbortTransactionRecord(reason="Controller failover")])
    image = plane.latest
    if image.metadata_version >= CONTROLLER_REGISTRATION_LEVEL:
        request = _controller_request(node_id, registration)
        image = plane.write_now(register_controller(image, request).records)
    registered = register_broker(
        image,
        settings,
        _broker_request(node_id, settings.cluster_id, registration),
        next_offset=plane.next_offset,
        is_own=True,
    )
    image = plane.write_now(registered.records)
    broker = brokers.registered(image, node_id, registered.reply)
    cordoned = registration.cordoned_directory_ids
    plane.write_now(
        [*brokers.cordon(image, broker, cordoned), *brokers.unfence(image, settings, broker)]
    )
    plane.flush_now()
    return broker.epoch


def _broker_request(
    node_id: int, cluster_id: str, registration: NodeRegistration
) -> broker_registration.BrokerRegistrationRequest:
    return broker_registration.BrokerRegistrationRequest(
        broker_id=node_id,
        cluster_id=cluster_id,
        incarnation_id=registration.incarnation_id,
        listeners=[
            broker_registration.Listener(**_address(end)) for end in registration.broker_endpoints
        ],
        features=[broker_registration.Feature(**one) for one in _features()],
        rack=registration.rack,
        log_dirs=list(registration.directory_ids),
        previous_broker_epoch=registration.previous_broker_epoch,
    )


def _controller_request(
    node_id: int, registration: NodeRegistration
) -> controller_registration.ControllerRegistrationRequest:
    return controller_registration.ControllerRegistrationRequest(
        controller_id=node_id,
        incarnation_id=registration.incarnation_id,
        listeners=[
            controller_registration.Listener(**_address(end))
            for end in registration.controller_endpoints
        ],
        features=[controller_registration.Feature(**one) for one in _features()],
    )


def _address(end: EndpointImage) -> dict[str, Any]:
    """Both requests call these fields by the same names."""
    return {
        "name": end.listener,
        "host": end.host,
        "port": end.port,
        "security_protocol": end.security_protocol,
    }


def _features() -> list[dict[str, Any]]:
    return [
        {"name": name, "min_supported_version": low, "max_supported_version": high}
        for name, (low, high) in SUPPORTED.items()
    ]
