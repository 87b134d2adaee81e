"""DescribeCluster and DescribeQuorum: who is there, and who leads."""

from pathlib import Path
from typing import Any

import pytest

from headrace.base.errors import ErrorCode
from headrace.broker.authorization import CLUSTER_NAME, Operation, ResourceType
from headrace.broker.dispatcher import Dispatcher
from headrace.metadata import records as r
from headrace.protocol.messages.describe_cluster import DescribeClusterRequest
from headrace.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    PartitionData,
    TopicData,
)
from headrace.raft.messages import StopRequested
from headrace.raft.voters import Voter, VoterSet
from tests.unit.broker.fakes import NODE_ID, DenyAll
from tests.unit.broker.harness import CLUSTER_ID, LISTENER, Broker

BROKERS, CONTROLLERS = 1, 2


def as_controller(broker: Broker) -> Broker:
    """Requests go to the controller's listener from now on."""
    broker.dispatcher = Dispatcher(broker.controller_table, broker.metrics, broker.clock)
    broker.connection.listener = "CONTROLLER"
    broker.connection.local_port = 9093
    return broker


def add_broker(broker: Broker, broker_id: int, *, fenced: bool, listener: str = LISTENER) -> None:
    broker.plane.apply(
        [
            r.RegisterBrokerRecord(
                broker_id=broker_id,
                broker_epoch=100,
                end_points=[r.BrokerEndpoint(name=listener, host=f"h{broker_id}", port=9000)],
                rack=None,
                fenced=fenced,
            )
        ]
    )


# DescribeCluster


@pytest.mark.parametrize("version", [0, 1, 2])
def test_the_brokers_of_the_cluster(broker: Broker, version: int) -> None:
    add_broker(broker, 5, fenced=False)
    response = broker.ask(DescribeClusterRequest(), version)
    assert (response.error_code, response.cluster_id) == (ErrorCode.NONE, CLUSTER_ID)
    assert response.endpoint_type == BROKERS
    assert response.controller_id == NODE_ID
    nodes = [(b.broker_id, b.host, b.port, b.rack, b.is_fenced) for b in response.brokers]
    assert nodes == [(NODE_ID, "10.0.0.1", 9092, "r1", False), (5, "h5", 9000, None, False)]
    assert response.cluster_authorized_operations == -(2**31)


def test_fenced_brokers_are_told_to_those_who_ask(broker: Broker) -> None:
    add_broker(broker, 5, fenced=True)
    plain = broker.ask(DescribeClusterRequest())
    assert [node.broker_id for node in plain.brokers] == [NODE_ID]
    asked = broker.ask(DescribeClusterRequest(include_fenced_brokers=True))
    assert [(n.broker_id, n.is_fenced) for n in asked.brokers] == [(NODE_ID, False), (5, True)]


def test_a_broker_without_the_clients_listener_is_not_told(broker: Broker) -> None:
    add_broker(broker, 5, fenced=False, listener="INTERNAL")
    assert [node.broker_id for node in broker.ask(DescribeClusterRequest()).brokers] == [NODE_ID]


def test_a_broker_does_not_describe_controllers(broker: Broker) -> None:
    response = broker.ask(DescribeClusterRequest(endpoint_type=CONTROLLERS))
    assert response.error_code == ErrorCode.MISMATCHED_ENDPOINT_TYPE
    assert response.error_message


@pytest.mark.parametrize("endpoint_type", [0, 3, -1, 127])
def test_other_endpoint_types_do_not_exist(broker: Broker, endpoint_type: int) -> None:
    response = broker.ask(DescribeClusterRequest(endpoint_type=endpoint_type))
    assert response.error_code == ErrorCode.UNSUPPORTED_ENDPOINT_TYPE


def test_a_controller_describes_controllers(broker: Broker) -> None:
    as_controller(broker)
    broker.plane.apply(
        [
            r.RegisterControllerRecord(
                controller_id=8,
                end_points=[r.ControllerEndpoint(name="CONTROLLER", host="h8", port=9093)],
            )
        ]
    )
    response = broker.ask(DescribeClusterRequest(endpoint_type=CONTROLLERS))
    assert (response.error_code, response.endpoint_type) == (ErrorCode.NONE, CONTROLLERS)
    assert response.controller_id == NODE_ID
    nodes = [(node.broker_id, node.host, node.port) for node in response.brokers]
    assert nodes == [(NODE_ID, "10.0.0.1", 9093), (8, "h8", 9093)]


@pytest.mark.parametrize(
    ("version", "code"),
    [(0, ErrorCode.INVALID_REQUEST), (1, ErrorCode.MISMATCHED_ENDPOINT_TYPE)],
)
def test_a_controller_does_not_describe_brokers(
    broker: Broker, version: int, code: ErrorCode
) -> None:
    as_controller(broker)
    assert broker.ask(DescribeClusterRequest(), version).error_code == code


def test_operations_are_told_to_those_who_may_describe_the_cluster(tmp_path: Path) -> None:
    allowed = (Operation.DESCRIBE, ResourceType.CLUSTER, CLUSTER_NAME)
    request = DescribeClusterRequest(include_cluster_authorized_operations=True)
    for number, (rights, expected) in enumerate((((), 0), ((allowed,), 1 << 8))):
        broker = Broker(tmp_path / str(number), authorizer=DenyAll(*rights))
        response = broker.ask(request)
        assert (response.error_code, len(response.brokers)) == (ErrorCode.NONE, 1)
        assert response.cluster_authorized_operations == expected
        broker.close()


# DescribeQuorum


def quorum_request(topic: str = "__cluster_metadata", *indexes: int) -> DescribeQuorumRequest:
    partitions = [PartitionData(partition_index=index) for index in indexes or (0,)]
    return DescribeQuorumRequest(topics=[TopicData(topic_name=topic, partitions=partitions)])


def described(broker: Broker, version: int = 2) -> Any:
    (topic,) = broker.ask(quorum_request(), version).topics
    assert topic.topic_name == "__cluster_metadata"
    (partition,) = topic.partitions
    return partition


@pytest.mark.parametrize("version", [0, 1, 2])
def test_the_leader_describes_the_quorum(broker: Broker, version: int) -> None:
    broker.create_topic("t")
    partition = described(broker, version)
    end = broker.plane.log_end_offset
    assert (partition.error_code, partition.leader_id) == (ErrorCode.NONE, NODE_ID)
    assert (partition.leader_epoch, partition.high_watermark) == (1, end)
    (voter,) = partition.current_voters
    assert (voter.replica_id, voter.log_end_offset) == (NODE_ID, end)
    assert partition.observers == []
    if version >= 1:
        now_ms = broker.clock.wall_ms()
        assert (voter.last_fetch_timestamp, voter.last_caught_up_timestamp) == (now_ms, now_ms)


def test_voters_are_told_with_their_directory_and_listeners(broker: Broker) -> None:
    broker.plane.raft.voters = VoterSet.of(
        [Voter(NODE_ID, b"d" * 16, (("CONTROLLER", "example.com", 9093),))]
    )
    (voter,) = described(broker).current_voters
    assert voter.replica_directory_id == b"d" * 16
    (node,) = broker.ask(quorum_request()).nodes
    assert node.node_id == NODE_ID
    (listener,) = node.listeners
    assert (listener.name, listener.host, listener.port) == ("CONTROLLER", "example.com", 9093)


def test_fixed_voters_are_found_where_they_registered(broker: Broker) -> None:
    (node,) = broker.ask(quorum_request()).nodes
    assert [(one.name, one.host, one.port) for one in node.listeners] == [
        ("CONTROLLER", "host", 9093)
    ]


@pytest.mark.parametrize(
    "request_",
    [quorum_request("t"), quorum_request("__cluster_metadata", 1), quorum_request("t", 0, 1)],
    ids=["another topic", "another partition", "several"],
)
def test_other_partitions_have_no_quorum(broker: Broker, request_: DescribeQuorumRequest) -> None:
    response = broker.ask(request_)
    asked = [(t.topic_name, p.partition_index) for t in request_.topics for p in t.partitions]
    answered = [
        (topic.topic_name, partition.partition_index, partition.error_code)
        for topic in response.topics
        for partition in topic.partitions
    ]
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert answered == [(name, index, code) for name, index in asked]


def test_a_node_that_does_not_lead_says_so(broker: Broker) -> None:
    broker.plane.raft.handle(StopRequested())
    assert described(broker).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


@pytest.mark.parametrize("voters", ["fixed", "dynamic"])
def test_a_listener_without_a_host_is_where_the_client_reached_the_node(
    tmp_path: Path, voters: str
) -> None:
    listeners = "PLAINTEXT://:9092,CONTROLLER://0.0.0.0:9093"
    broker = Broker(tmp_path, overrides={"listeners": listeners})
    if voters == "dynamic":
        stored = ("CONTROLLER", "localhost", 9093)  # as `storage format --standalone` writes it
        broker.plane.raft.voters = VoterSet.of([Voter(NODE_ID, b"d" * 16, (stored,))])
    (node,) = broker.ask(quorum_request()).nodes
    assert [(one.host, one.port) for one in node.listeners] == [("10.0.0.1", 9093)]
    broker.close()
