"""How a member of the classic protocol describes itself, and what it hears when it has joined."""

from __future__ import annotations

from headrace.base.errors import ErrorCode, KafkaError
from headrace.groups.call import Call
from headrace.groups.consumer.embedded_protocol import read_subscription
from headrace.groups.consumer.member import Member
from headrace.groups.group import CONSUMER_PROTOCOL_TYPE
from headrace.groups.records import ClassicMemberMetadata, ClassicProtocol
from headrace.protocol.embedded import ConsumerProtocolSubscription
from headrace.protocol.errors import ProtocolError
from headrace.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse


def subscription_of(request: JoinGroupRequest) -> ConsumerProtocolSubscription:
    try:
        return read_subscription(request.protocols[0].metadata)
    except ProtocolError as error:
        raise KafkaError(
            ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
            f"The embedded consumer protocol is malformed: {error}",
        ) from error


def described(
    member: Member, call: Call[JoinGroupRequest], subscription: ConsumerProtocolSubscription
) -> Member:
    request = call.request
    return member.but(
        instance_id=request.group_instance_id or member.instance_id,
        rack_id=subscription.rack_id or member.rack_id,
        client_id=call.client.client_id,
        client_host=call.client.shown_host,
        rebalance_timeout_ms=member.timeout_after(request.rebalance_timeout_ms),
        subscribed_topic_names=frozenset(subscription.topics),
        subscribed_topic_regex="",
        classic=ClassicMemberMetadata(
            session_timeout_ms=request.session_timeout_ms,
            supported_protocols=[
                ClassicProtocol(name=one.name, metadata=bytes(one.metadata))
                for one in request.protocols
            ],
        ),
    )


def joined(member: Member) -> JoinGroupResponse:
    assert member.classic is not None  # noqa: S101 - it has just joined with this protocol
    return JoinGroupResponse(
        member_id=member.member_id,
        generation_id=member.member_epoch,
        protocol_type=CONSUMER_PROTOCOL_TYPE,
        protocol_name=member.classic.supported_protocols[0].name,
    )
