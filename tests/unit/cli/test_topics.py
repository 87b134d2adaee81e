"""`headrace topics` against a scripted broker."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headrace.base.errors import ErrorCode
from headrace.cli.failure import CommandFailedError
from headrace.cli.main import main
from headrace.cli.topic_changes import parse_replica_assignment, parse_topic_configs
from headrace.protocol.apis import ApiKey
from headrace.protocol.messages.create_topics import (
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from headrace.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from headrace.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from headrace.protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)
from headrace.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)
from tests.unit.client.scripted_broker import Answer, ScriptedBroker, api_versions

TOPIC_ID = bytes(range(16))


@pytest.fixture
def broker() -> Iterator[ScriptedBroker]:
    with ScriptedBroker() as scripted:
        scripted.topics = {"orders": 2, "b.topic": 1, "__consumer_offsets": 1}
        yield scripted


def run(broker: ScriptedBroker, *args: str) -> int:
    return main(["topics", "--bootstrap-server", broker.address, *args])


def test_list_is_sorted_and_filtered(
    broker: ScriptedBroker, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(broker, "--list") == 0
    assert capsys.readouterr().out == "__consumer_offsets\nb.topic\norders\n"
    assert run(broker, "--list", "--exclude-internal") == 0
    assert capsys.readouterr().out == "b.topic\norders\n"
    assert run(broker, "--list", "--topic", "o.*,b") == 0
    assert capsys.readouterr().out == "orders\n"
    assert run(broker, "--list", "-o", "json") == 0
    assert capsys.readouterr().out == '{"topics": ["__consumer_offsets", "b.topic", "orders"]}\n'


def test_create_sends_what_was_asked_for(
    broker: ScriptedBroker, capsys: pytest.CaptureFixture[str]
) -> None:
    broker.scripts[ApiKey.CREATE_TOPICS] = lambda _r, _v: CreateTopicsResponse()
    args = ["--create", "--topic", "new", "--partitions", "3", "--config", "retention.ms = 5"]
    assert run(broker, *args) == 0
    assert capsys.readouterr().out == "Created topic new.\n"
    request = broker.asked[-1]
    assert isinstance(request, CreateTopicsRequest)
    (topic,) = request.topics
    assert (topic.name, topic.num_partitions, topic.replication_factor) == ("new", 3, -1)
    assert [(c.name, c.value) for c in topic.configs] == [("retention.ms", "5")]


def test_a_topic_that_exists_is_an_error_unless_that_is_fine(
    broker: ScriptedBroker, capsys: pytest.CaptureFixture[str]
) -> None:
    row = CreatableTopicResult(
        name="orders",
        error_code=ErrorCode.TOPIC_ALREADY_EXISTS,
        error_message="Topic 'orders' already exists.",
    )
    broker.scripts[ApiKey.CREATE_TOPICS] = lambda _r, _v: CreateTopicsResponse(topics=[row])
    assert run(broker, "--create", "--topic", "orders") == 1
    expected = "Error while executing topic command : Topic 'orders' already exists.\n"
    assert capsys.readouterr().err == expected
    assert run(broker, "--create", "--topic", "orders", "--if-not-exists") == 0


def test_a_missing_topic_is_an_error_unless_that_is_fine(
    broker: ScriptedBroker, capsys: pytest.CaptureFixture[str]
) -> None:
    broker.scripts[ApiKey.DELETE_TOPICS] = lambda _r, _v: DeleteTopicsResponse()
    assert run(broker, "--delete", "--topic", "nope") == 1
    assert "Topic 'nope' does not exist as expected" in capsys.readouterr().err
    assert run(broker, "--delete", "--topic", "nope", "--if-exists") == 0
    assert not any(isinstance(request, DeleteTopicsRequest) for request in broker.asked)


def describing(broker: ScriptedBroker) -> None:
    """Scripts for a topic `orders` with partition 1 short of a replica and on the move."""
    parts = [
        DescribeTopicPartitionsResponsePartition(
            partition_index=index,
            leader_id=leader,
            replica_nodes=[1, 2],
            isr_nodes=isr,
            eligible_leader_replicas=[],
            last_known_elr=[],
        )
        for index, leader, isr in ((0, 1, [1, 2]), (1, -1, [2]))
    ]

    def pages(request: DescribeTopicPartitionsRequest, _version: int) -> Answer:
        first = request.cursor.partition_index if request.cursor else 0
        topic = DescribeTopicPartitionsResponseTopic(
            name="orders", topic_id=TOPIC_ID, partitions=parts[first : first + 1]
        )
        cursor = Cursor(topic_name="orders", partition_index=1) if first == 0 else None
        return DescribeTopicPartitionsResponse(topics=[topic], next_cursor=cursor)

    def configs(request: DescribeConfigsRequest, _version: int) -> Answer:
        rows = [
            DescribeConfigsResourceResult(name="retention.ms", value="5", config_source=1),
            DescribeConfigsResourceResult(name="min.insync.replicas", value="2", config_source=4),
            DescribeConfigsResourceResult(name="segment.ms", value="9", config_source=5),
        ]
        name = request.resources[0].resource_name
        return DescribeConfigsResponse(
            results=[DescribeConfigsResult(resource_name=name, configs=rows)]
        )

    move = OngoingPartitionReassignment(
        partition_index=1, replicas=[1, 2], adding_replicas=[3], removing_replicas=[]
    )
    moves = ListPartitionReassignmentsResponse(
        topics=[OngoingTopicReassignment(name="orders", partitions=[move])]
    )
    broker.scripts[ApiKey.DESCRIBE_TOPIC_PARTITIONS] = pages
    broker.scripts[ApiKey.DESCRIBE_CONFIGS] = configs
    broker.scripts[ApiKey.LIST_PARTITION_REASSIGNMENTS] = lambda _r, _v: moves


def test_describe_prints_kafkas_lines(
    broker: ScriptedBroker, capsys: pytest.CaptureFixture[str]
) -> None:
    describing(broker)
    assert run(broker, "--describe", "--topic", "orders") == 0
    assert capsys.readouterr().out == (
        "Topic: orders\tTopicId: AAECAwQFBgcICQoLDA0ODw\tPartitionCount: 2\tReplicationFactor: 2"
        "\tConfigs: min.insync.replicas=2,retention.ms=5\n"
        "\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2"
        "\tElr: \tLastKnownElr: \n"
        "\tTopic: orders\tPartition: 1\tLeader: none\tReplicas: 1,2\tIsr: 2"
        "\tAdding Replicas: 3\tRemoving Replicas: \tElr: \tLastKnownElr: \n"
    )


@pytest.mark.parametrize(
    ("report", "partitions"),
    [
        ("--under-replicated-partitions", [1]),
        ("--unavailable-partitions", [1]),
        ("--under-min-isr-partitions", [1]),
        ("--at-min-isr-partitions", [0]),
    ],
)
def test_reports_pick_their_partitions(
    broker: ScriptedBroker,
    capsys: pytest.CaptureFixture[str],
    report: str,
    partitions: list[int],
) -> None:
    describing(broker)
    assert run(broker, "--describe", "--topic", "orders", report) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [int(line.split("\t")[2].removeprefix("Partition: ")) for line in lines] == partitions


def test_an_older_cluster_is_described_without_eligible_replicas(
    broker: ScriptedBroker, capsys: pytest.CaptureFixture[str]
) -> None:
    describing(broker)
    broker.scripts[ApiKey.API_VERSIONS] = lambda _r, _v: api_versions(
        describe_topic_partitions=None, list_partition_reassignments=None
    )
    broker.topics = {"orders": 1}
    assert run(broker, "--describe") == 0
    assert "\tElr: N/A\tLastKnownElr: N/A\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    "args",
    [
        ["--create"],
        ["--alter", "--topic", "t"],
        ["--alter", "--topic", "t", "--partitions", "2", "--config", "a=b"],
        ["--list", "--partitions", "3"],
        ["--describe", "--replication-factor", "3"],
        ["--create", "--topic", "t", "--partitions", "1", "--replica-assignment", "1"],
        ["--describe", "--topics-with-overrides", "--under-replicated-partitions"],
        ["--list", "--if-exists"],
        ["--describe", "--if-exists"],
    ],
)
def test_options_that_do_not_go_together_are_refused(args: list[str]) -> None:
    assert main(["topics", "--bootstrap-server", "localhost:1", *args]) == 2


def test_replica_assignments() -> None:
    assert parse_replica_assignment("0:1,1:2") == [[0, 1], [1, 2]]
    for text in ("0:0", "0:1,2", "a:b", "1,,2"):
        with pytest.raises(CommandFailedError):
            parse_replica_assignment(text)


@pytest.mark.parametrize("pair", ["a", "a=", "=b", "a=b=c"])
def test_a_config_must_be_key_and_value(pair: str) -> None:
    with pytest.raises(CommandFailedError, match="must be in the format"):
        parse_topic_configs([pair])
