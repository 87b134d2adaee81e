"""What a group of consumers looks like now, whichever protocol its members speak."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from headrace.base.errors import ErrorCode, KafkaError
from headrace.client.blocking import KafkaClient
from headrace.client.connection import BlockingConnection
from headrace.client.errors import error_for_code
from headrace.client.groups import ask_coordinators
from headrace.client.leaders import TopicPartition
from headrace.client.metadata import NodeAddress
from headrace.protocol.compiler import read
from headrace.protocol.embedded import ConsumerProtocolAssignment
from headrace.protocol.errors import ProtocolError
from headrace.protocol.messages import consumer_group_describe as consumer
from headrace.protocol.messages import describe_groups as classic

_CONSUMER_MEMBER = 1
_ASSIGNMENT_VERSION_MAX = 3
#: Answers that mean: this may still be a classic group.
_ASK_CLASSIC = (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION)


@dataclass(slots=True)
class MemberDescription:
    """A member; what only the newer protocol knows is None in a classic group."""

    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    assignment: set[TopicPartition]
    target: set[TopicPartition] | None = None
    epoch: int | None = None
    upgraded: bool | None = None


@dataclass(slots=True)
class GroupDescription:
    """A group with its members, in the order in which its coordinator names them."""

    group_id: str
    state: str
    coordinator: NodeAddress
    assignor: str
    members: list[MemberDescription] = field(default_factory=list)
    group_epoch: int | None = None
    assignment_epoch: int | None = None


def describe_groups(
    client: KafkaClient, groups: Sequence[str]
) -> dict[str, GroupDescription | KafkaError]:
    """Describe groups of consumers: first as the newer protocol knows them, then as classic."""
    nodes = client.cluster().nodes

    def ask_consumer(
        node: BlockingConnection, theirs: list[str]
    ) -> dict[str, GroupDescription | KafkaError]:
        request = consumer.ConsumerGroupDescribeRequest(group_ids=theirs)
        try:
            answer = node.call(request, consumer.ConsumerGroupDescribeResponse)
        except KafkaError as error:
            if error.code is not ErrorCode.UNSUPPORTED_VERSION:
                raise
            return dict.fromkeys(theirs, error)
        return {row.group_id: _consumer_group(row, at(node)) for row in answer.groups}

    def ask_classic(
        node: BlockingConnection, theirs: list[str]
    ) -> dict[str, GroupDescription | KafkaError]:
        request = classic.DescribeGroupsRequest(groups=theirs)
        answer = node.call(request, classic.DescribeGroupsResponse)
        return {row.group_id: _classic_group(row, at(node)) for row in answer.groups}

    def at(connection: BlockingConnection) -> NodeAddress:
        for node in nodes.values():
            if (node.host, node.port) == connection.address:
                return node
        return NodeAddress(-1, *connection.address)

    if not groups:
        return {}
    found = ask_coordinators(client, groups, ask_consumer)
    others = [
        group
        for group in groups
        if isinstance(found.get(group), KafkaError) and found[group].code in _ASK_CLASSIC  # type: ignore[union-attr]
    ]
    if others:
        found |= ask_coordinators(client, others, ask_classic)
    missing = error_for_code(ErrorCode.GROUP_ID_NOT_FOUND)
    return {group: found.get(group, missing) for group in groups}


def _consumer_group(
    row: consumer.DescribedGroup, coordinator: NodeAddress
) -> GroupDescription | KafkaError:
    if row.error_code:
        return error_for_code(row.error_code, row.error_message)
    members = [
        MemberDescription(
            member.member_id,
            member.instance_id,
            member.client_id,
            member.client_host,
            _partitions(member.assignment),
            _partitions(member.target_assignment),
            member.member_epoch,
            None if member.member_type < 0 else member.member_type == _CONSUMER_MEMBER,
        )
        for member in row.members
    ]
    return GroupDescription(
        row.group_id,
        row.group_state,
        coordinator,
        row.assignor_name,
        members,
        row.group_epoch,
        row.assignment_epoch,
    )


def _partitions(assignment: consumer.Assignment) -> set[TopicPartition]:
    return {
        (topic.topic_name, index)
        for topic in assignment.topic_partitions
        for index in topic.partitions
    }


def _classic_group(
    row: classic.DescribedGroup, coordinator: NodeAddress
) -> GroupDescription | KafkaError:
    if row.error_code:
        return error_for_code(row.error_code, row.error_message)
    if row.protocol_type not in ("", "consumer"):
        return KafkaError(
            ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
            f"GroupId {row.group_id} is not a consumer group ({row.protocol_type}).",
        )
    members = [
        MemberDescription(
            member.member_id,
            member.group_instance_id,
            member.client_id,
            member.client_host,
            read_assignment(member.member_assignment),
        )
        for member in row.members
    ]
    return GroupDescription(row.group_id, row.group_state, coordinator, row.protocol_data, members)


def read_assignment(data: bytes) -> set[TopicPartition]:
    """The partitions in a classic member's assignment; none in one that is not Kafka's."""
    if len(data) < 2:
        return set()
    version = int.from_bytes(bytes(data[:2]), "big", signed=True)
    try:
        message, _ = read(
            ConsumerProtocolAssignment, min(version, _ASSIGNMENT_VERSION_MAX), data, 2
        )
    except ProtocolError:
        return set()
    return {
        (topic.topic, index) for topic in message.assigned_partitions for index in topic.partitions
    }
