"""BrokerHeartbeat: the states of a broker, and what moves it from one to the next (KIP-631)."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from headrace.metadata.controller import brokers, leadership
from headrace.metadata.controller.result import ControllerResult
from headrace.metadata.controller.sessions import BrokerSessions
from headrace.metadata.controller.settings import ControllerSettings
from headrace.metadata.image import BrokerImage, MetadataImage
from headrace.metadata.record_codec import AnyRecord
from headrace.metadata.records import BrokerRegistrationChangeRecord
from headrace.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest


class BrokerState(Enum):
    """Where the controller sees a broker."""

    FENCED = "fenced"
    UNFENCED = "unfenced"
    CONTROLLED_SHUTDOWN = "controlled shutdown"
    SHUTDOWN_NOW = "shutdown now"


@dataclass(frozen=True, slots=True)
class HeartbeatReply:
    """What the broker is told."""

    is_caught_up: bool
    is_fenced: bool
    should_shut_down: bool


def process_heartbeat(
    image: MetadataImage,
    settings: ControllerSettings,
    sessions: BrokerSessions,
    request: BrokerHeartbeatRequest,
    *,
    now_ms: float,
    log_end_offset: int,
) -> ControllerResult[HeartbeatReply]:
    """Take note of a broker and move it to the state that it may have."""
    broker = brokers.registered(image, request.broker_id, request.broker_epoch)
    current = current_state(broker)
    following = _next_state(image, sessions, request, current)
    records: list[AnyRecord] = []
    if following is not current:
        if following in (BrokerState.FENCED, BrokerState.SHUTDOWN_NOW):
            records = brokers.fence(image, settings, broker)
        elif following is BrokerState.UNFENCED:
            records = brokers.unfence(image, settings, broker)
        else:
            records = brokers.begin_shutdown(image, settings, broker)
    is_fenced = following in (BrokerState.FENCED, BrokerState.SHUTDOWN_NOW)
    sessions.touch(
        broker.broker_id,
        broker.epoch,
        now_ms,
        metadata_offset=request.current_metadata_offset,
        fenced=is_fenced,
    )
    if following is BrokerState.CONTROLLED_SHUTDOWN:
        sessions.begin_shutdown(broker.broker_id, log_end_offset + len(records))
    records += _directory_records(image, settings, broker, request)
    reply = HeartbeatReply(
        is_caught_up=request.current_metadata_offset >= broker.epoch,
        is_fenced=is_fenced,
        should_shut_down=following is BrokerState.SHUTDOWN_NOW,
    )
    return ControllerResult(reply, records)


def current_state(broker: BrokerImage) -> BrokerState:
    if broker.fenced:
        return BrokerState.FENCED
    if broker.in_controlled_shutdown:
        return BrokerState.CONTROLLED_SHUTDOWN
    return BrokerState.UNFENCED


def _next_state(
    image: MetadataImage,
    sessions: BrokerSessions,
    request: BrokerHeartbeatRequest,
    current: BrokerState,
) -> BrokerState:
    if current is BrokerState.FENCED:
        if request.want_shut_down:
            return BrokerState.SHUTDOWN_NOW
        is_caught_up = request.current_metadata_offset >= request.broker_epoch
        return current if request.want_fence or not is_caught_up else BrokerState.UNFENCED
    leads = _leads_anything(image, request.broker_id)
    if current is BrokerState.UNFENCED:
        if request.want_fence:
            return BrokerState.SHUTDOWN_NOW if request.want_shut_down else BrokerState.FENCED
        if request.want_shut_down:
            return BrokerState.CONTROLLED_SHUTDOWN if leads else BrokerState.SHUTDOWN_NOW
        return current
    if leads or not sessions.may_stop(request.broker_id):
        return current
    return BrokerState.SHUTDOWN_NOW


def _leads_anything(image: MetadataImage, broker_id: int) -> bool:
    leading = leadership.partitions_where(image, lambda partition: partition.leader == broker_id)
    return next(leading, None) is not None


def _directory_records(
    image: MetadataImage,
    settings: ControllerSettings,
    broker: BrokerImage,
    request: BrokerHeartbeatRequest,
) -> list[AnyRecord]:
    """What changes when directories of the broker fail, or are cordoned off."""
    records: list[AnyRecord] = []
    failed = [one for one in broker.directories if one in set(request.offline_log_dirs)]
    if failed:
        records += directories_failed(image, settings, broker, failed)
    if request.cordoned_log_dirs is not None:
        records += brokers.cordon(image, broker, request.cordoned_log_dirs)
    return records


def directories_failed(
    image: MetadataImage,
    settings: ControllerSettings,
    broker: BrokerImage,
    failed: Sequence[bytes],
) -> list[AnyRecord]:
    """The broker loses the partitions that lie in these directories."""
    broker_id = broker.broker_id
    gone = set(failed)
    records = leadership.leader_and_isr_updates(
        image,
        settings,
        lambda partition: (
            broker_id in partition.isr
            and partition.directories[partition.replicas.index(broker_id)] in gone
        ),
        removed=broker_id,
    )
    records.append(
        BrokerRegistrationChangeRecord(
            broker_id=broker_id,
            broker_epoch=broker.epoch,
            log_dirs=[one for one in broker.directories if one not in gone],
        )
    )
    return records
