"""BrokerRegistration and ControllerRegistration: how a process becomes a node of the cluster."""

from typing import Any

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.uuids import RESERVED_IDS, format_uuid
from headrace.metadata.controller import leadership
from headrace.metadata.controller.result import ControllerResult
from headrace.metadata.controller.settings import ControllerSettings
from headrace.metadata.features import (
    CONTROLLER_REGISTRATION_LEVEL,
    DIRECTORY_ASSIGNMENT_LEVEL,
    METADATA_VERSION,
)
from headrace.metadata.image import MetadataImage
from headrace.metadata.record_codec import AnyRecord
from headrace.metadata.records import (
    BrokerEndpoint,
    BrokerFeature,
    ControllerEndpoint,
    ControllerFeature,
    RegisterBrokerRecord,
    RegisterControllerRecord,
)
from headrace.protocol.messages import broker_registration, controller_registration
from headrace.protocol.messages.broker_registration import BrokerRegistrationRequest
from headrace.protocol.messages.controller_registration import ControllerRegistrationRequest


def register_broker(
    image: MetadataImage,
    settings: ControllerSettings,
    request: BrokerRegistrationRequest,
    *,
    next_offset: int,
    has_live_session: bool = False,
    is_own: bool = False,
) -> ControllerResult[int]:
    """Register a broker, fenced at first; the reply is its epoch.

    A new process of a known broker is told from an amended registration by its incarnation id; its
    former self then leaves its partitions, cleanly or not. `is_own` marks the broker that lives in
    one process with the controller and will be unfenced before anybody sees it fenced.
    """
    _check_registration(image, settings, request, has_live_session)
    existing = image.brokers.get(request.broker_id)
    record = RegisterBrokerRecord(
        broker_id=request.broker_id,
        incarnation_id=request.incarnation_id,
        rack=request.rack,
        end_points=[BrokerEndpoint(**_address(end)) for end in request.listeners],
        features=[BrokerFeature(**_range(feature)) for feature in request.features],
    )
    if image.metadata_version >= DIRECTORY_ASSIGNMENT_LEVEL:
        record.log_dirs = list(request.log_dirs)
    if existing is not None and existing.incarnation_id == request.incarnation_id:
        record.fenced = existing.fenced
        record.in_controlled_shutdown = existing.in_controlled_shutdown
        record.broker_epoch = existing.epoch
        return ControllerResult(existing.epoch, [record])
    records: list[AnyRecord] = []
    if existing is not None:
        clean = existing.epoch == request.previous_broker_epoch
        if is_own:
            records = leadership.own_restart(image, settings, request.broker_id, clean=clean)
        elif clean:
            records = leadership.broker_leaves(image, settings, request.broker_id)
        else:
            records = leadership.broker_stopped_uncleanly(image, settings, request.broker_id)
    record.broker_epoch = next_offset + len(records)
    # The registration comes last: if it is lost, the broker registers again and nothing is amiss.
    return ControllerResult(record.broker_epoch, [*records, record])


def _check_registration(
    image: MetadataImage,
    settings: ControllerSettings,
    request: BrokerRegistrationRequest,
    has_live_session: bool,
) -> None:
    if request.cluster_id != settings.cluster_id:
        raise KafkaError(
            ErrorCode.INCONSISTENT_CLUSTER_ID,
            f"Expected cluster ID {settings.cluster_id}, but got cluster ID {request.cluster_id}",
        )
    existing = image.brokers.get(request.broker_id)
    if (
        existing is not None
        and has_live_session
        and existing.incarnation_id != request.incarnation_id
    ):
        raise KafkaError(
            ErrorCode.DUPLICATE_BROKER_REGISTRATION,
            "Another broker is registered with that broker id.",
        )
    if request.is_migrating_zk_broker:
        raise KafkaError(
            ErrorCode.BROKER_ID_NOT_REGISTERED,
            "Controller does not support registering ZK brokers.",
        )
    if image.metadata_version >= DIRECTORY_ASSIGNMENT_LEVEL:
        _check_directories(image, request)
    _check_features(image, request)


def _check_directories(image: MetadataImage, request: BrokerRegistrationRequest) -> None:
    problem = ""
    if not request.log_dirs:
        problem = "No directories specified in request"
    elif any(directory in RESERVED_IDS for directory in request.log_dirs):
        problem = "Reserved directory ID in request"
    elif len(set(request.log_dirs)) != len(request.log_dirs):
        problem = "Duplicate directory ID in request"
    else:
        for broker in image.brokers.values():
            taken = set(broker.directories) & set(request.log_dirs)
            if taken and broker.broker_id != request.broker_id:
                problem = (
                    f"Broker {broker.broker_id} is already registered with directory"
                    f" {format_uuid(taken.pop())}"
                )
    if problem:
        raise KafkaError(ErrorCode.INVALID_REGISTRATION, problem)


def _check_features(image: MetadataImage, request: BrokerRegistrationRequest) -> None:
    ranges = {
        feature.name: (feature.min_supported_version, feature.max_supported_version)
        for feature in request.features
    }
    if METADATA_VERSION not in ranges:
        raise KafkaError(
            ErrorCode.INVALID_REGISTRATION, f"Request features do not contain '{METADATA_VERSION}'"
        )
    for name in {**ranges, **image.features}:
        low, high = ranges.get(name, (0, 0))
        level = image.features.get(name, 1 if name == METADATA_VERSION else 0)
        if not low <= level <= high:
            raise KafkaError(
                ErrorCode.UNSUPPORTED_VERSION,
                "Unable to register because the broker does not support finalized version"
                f" {level} of {name}. The broker wants a version between {low} and {high},"
                " inclusive.",
            )


def register_controller(
    image: MetadataImage, request: ControllerRegistrationRequest
) -> ControllerResult[None]:
    """Make a controller's addresses and features known."""
    if image.metadata_version < CONTROLLER_REGISTRATION_LEVEL:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_VERSION,
            "The current MetadataVersion is too old to support controller registrations.",
        )
    record = RegisterControllerRecord(
        controller_id=request.controller_id,
        incarnation_id=request.incarnation_id,
        zk_migration_ready=False,
        end_points=[ControllerEndpoint(**_address(end)) for end in request.listeners],
        features=[ControllerFeature(**_range(feature)) for feature in request.features],
    )
    return ControllerResult(None, [record])


def _address(
    end: broker_registration.Listener | controller_registration.Listener,
) -> dict[str, Any]:
    """Requests and records call the same fields by the same names."""
    return {
        "name": end.name,
        "host": end.host,
        "port": end.port,
        "security_protocol": end.security_protocol,
    }


def _range(
    feature: broker_registration.Feature | controller_registration.Feature,
) -> dict[str, Any]:
    return {
        "name": feature.name,
        "min_supported_version": feature.min_supported_version,
        "max_supported_version": feature.max_supported_version,
    }
