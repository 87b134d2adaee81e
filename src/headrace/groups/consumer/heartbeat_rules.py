"""What a heartbeat must look like, before any group is looked at."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.base.errors import ErrorCode, KafkaError
from headrace.groups.consumer.member import (
    JOINING_EPOCH,
    LEFT_EPOCH,
    STATIC_LEFT_EPOCH,
    TIMEOUT_NOT_SAID,
)
from headrace.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

#: Since this version members choose their ids themselves.
_CLIENTS_CHOOSE_IDS = 1


def check_heartbeat(
    request: ConsumerGroupHeartbeatRequest, api_version: int, assignors: Sequence[str]
) -> None:
    """Raise `KafkaError` with Kafka's words for a request that makes no sense."""
    epoch = request.member_epoch
    if api_version >= _CLIENTS_CHOOSE_IDS or epoch > JOINING_EPOCH or epoch == LEFT_EPOCH:
        _not_blank(request.member_id, "MemberId")
    _not_blank(request.group_id, "GroupId")
    _not_blank(request.instance_id, "InstanceId")
    _not_blank(request.rack_id, "RackId")
    if epoch == JOINING_EPOCH:
        _check_first(request)
    elif epoch == STATIC_LEFT_EPOCH and request.instance_id is None:
        raise _invalid("InstanceId can't be null.")
    elif epoch < STATIC_LEFT_EPOCH:
        raise _invalid("MemberEpoch is invalid.")
    if request.server_assignor is not None and request.server_assignor not in assignors:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_ASSIGNOR,
            f"ServerAssignor {request.server_assignor} is not supported. Supported assignors:"
            f" {', '.join(assignors)}.",
        )


def _check_first(request: ConsumerGroupHeartbeatRequest) -> None:
    if request.rebalance_timeout_ms == TIMEOUT_NOT_SAID:
        raise _invalid("RebalanceTimeoutMs must be provided in first request.")
    if request.topic_partitions is None or request.topic_partitions:
        raise _invalid("TopicPartitions must be empty when (re-)joining.")
    if request.subscribed_topic_names is None and request.subscribed_topic_regex is None:
        raise _invalid(
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when"
            " (re-)joining."
        )


def _not_blank(text: str | None, name: str) -> None:
    if text is not None and not text.strip():
        raise _invalid(f"{name} can't be empty.")


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, message)
