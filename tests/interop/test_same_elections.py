"""ElectLeaders and UnregisterBroker: Apache's answers and ours, and Apache's tools on our node."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headrace.client.blocking import KafkaClient
from headrace.client.config import ClientConfig
from headrace.protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    TopicPartitions,
)
from headrace.protocol.messages.unregister_broker import (
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)
from headrace.testing.topics import create_topic
from tests.support.apache_kafka import ApacheKafka
from tests.support.headrace_node import HeadraceNode, headrace
from tests.support.java import java_tool
from tests.support.node import Node

TOPIC = "elections"


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory, apache: ApacheKafka) -> Iterator[HeadraceNode]:
    with HeadraceNode(tmp_path_factory.mktemp("elections") / "data") as running:
        for each in (running, apache):
            with _client(each) as client:
                create_topic(client, TOPIC, 2, {})
        yield running


def _client(node: Node) -> KafkaClient:
    return KafkaClient(ClientConfig(bootstrap=(("127.0.0.1", node.port),)))


def _elect(
    node: Node, kind: int, partitions: list[TopicPartitions] | None, version: int
) -> ElectLeadersResponse:
    with _client(node) as client:
        request = ElectLeadersRequest(election_type=kind, topic_partitions=partitions)
        return client.any_node().call(request, ElectLeadersResponse, version=version)


@pytest.mark.parametrize("version", [0, 1, 2])
@pytest.mark.parametrize("kind", [0, 1])
def test_partitions_that_are_led_or_do_not_exist(
    node: HeadraceNode, apache: ApacheKafka, kind: int, version: int
) -> None:
    if version == 0 and kind:
        return  # version 0 has no kinds
    asked = [
        TopicPartitions(topic=TOPIC, partitions=[0, 1, 7]),
        TopicPartitions(topic="nowhere", partitions=[0]),
    ]
    ours, theirs = (_elect(each, kind, asked, version) for each in (node, apache))
    assert _plain(ours) == _plain(theirs)


def test_all_partitions_need_nothing(node: HeadraceNode, apache: ApacheKafka) -> None:
    assert _plain(_elect(node, 0, None, 2)) == _plain(_elect(apache, 0, None, 2)) == (0, {})


def _plain(
    answer: ElectLeadersResponse,
) -> tuple[int, dict[tuple[str, int], tuple[int, str | None]]]:
    return answer.error_code, {
        (topic.topic, row.partition_id): (row.error_code, row.error_message)
        for topic in answer.replica_election_results
        for row in topic.partition_result
    }


def test_a_broker_that_is_not_there_cannot_be_unregistered(
    node: HeadraceNode, apache: ApacheKafka
) -> None:
    answers = []
    for each in (node, apache):
        with _client(each) as client:
            answers.append(
                client.any_node().call(
                    UnregisterBrokerRequest(broker_id=77), UnregisterBrokerResponse
                )
            )
    ours, theirs = answers
    assert (ours.error_code, ours.error_message) == (theirs.error_code, theirs.error_message)


@pytest.mark.parametrize("partition", ["0", "7"])
def test_the_tool_prints_what_apaches_prints(node: HeadraceNode, partition: str) -> None:
    who = ("--bootstrap-server", node.bootstrap, "--election-type", "preferred")
    args = (*who, "--topic", TOPIC, "--partition", partition)
    theirs = java_tool("LeaderElectionCommand", *args, check=False)
    ours = headrace("leader-election", *args, check=False)
    assert ours.stdout == theirs.stdout
    assert ours.returncode == theirs.returncode
    assert theirs.stderr.startswith(ours.stderr)
