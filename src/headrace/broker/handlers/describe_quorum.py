"""DescribeQuorum: who leads the metadata log, and how far its voters are (KIP-595, KIP-853)."""

from __future__ import annotations

from typing import Protocol

from headrace.base.clock import Clock
from headrace.base.errors import ErrorCode
from headrace.broker.cluster_view import ClusterView
from headrace.broker.context import RequestContext
from headrace.metadata.controller.topic_names import METADATA_TOPIC
from headrace.metadata.image import MetadataImage
from headrace.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    Listener,
    Node,
    ReplicaState,
    ResponsePartitionData,
    ResponseTopicData,
)
from headrace.raft.leader import LeaderState
from headrace.raft.machine import RaftMachine
from headrace.raft.voters import Voter

_METADATA_PARTITION = 0
_TIME_UNKNOWN = -1


class Quorum(Protocol):
    """Who runs the Raft machine and holds the newest committed image."""

    @property
    def raft(self) -> RaftMachine: ...
    @property
    def image(self) -> MetadataImage: ...


class DescribeQuorumHandler:
    """Serves API key 55."""

    def __init__(self, quorum: Quorum, cluster: ClusterView, clock: Clock) -> None:
        self._quorum = quorum
        self._cluster = cluster
        self._clock = clock

    def __call__(
        self, context: RequestContext, request: DescribeQuorumRequest
    ) -> DescribeQuorumResponse:
        if not _asks_for_the_metadata_log(request):
            return _refused(request)
        leader = self._quorum.raft.leader
        if leader is None:
            partition = ResponsePartitionData(
                partition_index=_METADATA_PARTITION,
                error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER,
                error_message="This node does not lead the quorum.",
            )
            return _answer(partition, [])
        partition = ResponsePartitionData(
            partition_index=_METADATA_PARTITION,
            leader_id=leader.node_id,
            leader_epoch=leader.epoch,
            high_watermark=leader.high_watermark,
            current_voters=[self._state(leader, voter) for voter in self._quorum.raft.voters],
        )
        nodes = [self._node(context, voter) for voter in self._quorum.raft.voters]
        return _answer(partition, nodes)

    def _state(self, leader: LeaderState, voter: Voter) -> ReplicaState:
        # The leader itself has always just fetched, and is never behind.
        now_ms = self._clock.wall_ms() if voter.voter_id == leader.node_id else _TIME_UNKNOWN
        return ReplicaState(
            replica_id=voter.voter_id,
            replica_directory_id=voter.directory_id,
            log_end_offset=leader.flushed_to(voter.voter_id),
            last_fetch_timestamp=now_ms,
            last_caught_up_timestamp=now_ms,
        )

    def _node(self, context: RequestContext, voter: Voter) -> Node:
        endpoints = self._cluster.listeners_of(
            context,
            voter.voter_id,
            voter.endpoints or self._registered_endpoints(voter.voter_id),
        )
        return Node(
            node_id=voter.voter_id,
            listeners=[Listener(name=name, host=host, port=port) for name, host, port in endpoints],
        )

    def _registered_endpoints(self, voter_id: int) -> tuple[tuple[str, str, int], ...]:
        """Voters that are fixed in the configuration say in their registration where they are."""
        controller = self._quorum.image.controllers.get(voter_id)
        if controller is None:
            return ()
        return tuple((end.listener, end.host, end.port) for end in controller.endpoints)


def _asks_for_the_metadata_log(request: DescribeQuorumRequest) -> bool:
    return [
        (topic.topic_name, partition.partition_index)
        for topic in request.topics
        for partition in topic.partitions
    ] == [(METADATA_TOPIC, _METADATA_PARTITION)]


def _answer(partition: ResponsePartitionData, nodes: list[Node]) -> DescribeQuorumResponse:
    return DescribeQuorumResponse(
        topics=[ResponseTopicData(topic_name=METADATA_TOPIC, partitions=[partition])], nodes=nodes
    )


def _refused(request: DescribeQuorumRequest) -> DescribeQuorumResponse:
    """Only one partition has a quorum; whoever asks for another gets an error for each."""
    return DescribeQuorumResponse(
        topics=[
            ResponseTopicData(
                topic_name=topic.topic_name,
                partitions=[
                    ResponsePartitionData(
                        partition_index=partition.partition_index,
                        error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                        error_message=f"Only {METADATA_TOPIC}-{_METADATA_PARTITION} has a quorum.",
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )
