"""Everything that `headrace topics --describe` has to know of a topic before it prints a line."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, field

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.uuids import ZERO_UUID, parse_uuid
from headrace.cli.java_order import hash_order
from headrace.cli.topic_names import failed, require_topics, topic_names
from headrace.cli.topic_partitions import PartitionState, TopicState, ask_partitions
from headrace.client.blocking import KafkaClient
from headrace.client.errors import raise_for_code
from headrace.client.metadata import ask_topics
from headrace.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from headrace.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    ListPartitionReassignmentsTopics,
)

_PARTITION_LIMIT = 2000
_TOPIC_RESOURCE = 2
_DEFAULT_SOURCE = 5


@dataclass(slots=True)
class Description:
    """One topic with everything that its lines need."""

    topic: TopicState
    configs: dict[str, str]
    overrides: dict[str, str]
    moves: dict[int, tuple[list[int], list[int], list[int]]] = field(default_factory=dict)

    def replication_factor(self, partition: PartitionState) -> int:
        """Without the replicas that a reassignment is adding."""
        replicas, adding, removing = self.moves.get(partition.index, ([], [], []))
        if set(partition.replicas) & {*adding, *removing}:
            return len(replicas) - len(adding)
        return len(partition.replicas)


def gather(client: KafkaClient, args: argparse.Namespace) -> Iterator[Description]:
    topics = _ask_topics(client, args)
    names = [topic.name for topic in topics]
    configs = _ask_configs(client, names) if names else {}
    moves = _ask_reassignments(client, topics) if names else {}
    for topic in topics:
        entries = configs[topic.name]
        yield Description(
            topic,
            {name: value for name, value, _ in entries},
            {name: value for name, value, source in entries if source != _DEFAULT_SOURCE},
            moves.get(topic.name, {}),
        )


def _ask_topics(client: KafkaClient, args: argparse.Namespace) -> list[TopicState]:
    limit = args.partition_size_limit_per_response or _PARTITION_LIMIT
    wanted_id = _topic_id(args)
    if wanted_id is None:
        names = topic_names(client, args.topic, exclude_internal=args.exclude_internal)
        require_topics(names, args)
    else:
        topics = client.retry(lambda: ask_topics(client.any_node(), None)).topics
        names = [topic.name or "" for topic in topics if topic.topic_id == wanted_id]
        if not names and not args.if_exists:
            raise failed(f"TopicId '{args.topic_id}' does not exist as expected")
    # By id, Kafka's tool asks the older API, which knows no eligible leader replicas.
    described = ask_partitions(client, names, limit, paged=wanted_id is None)
    found = {topic.name: topic for topic in described}
    return [found[name] for name in hash_order(names, capacity=len(names)) if name in found]


def _topic_id(args: argparse.Namespace) -> bytes | None:
    if args.topic_id is None:
        return None
    try:
        parsed = parse_uuid(args.topic_id)
    except ValueError as error:
        raise failed(str(error)) from error
    return None if parsed == ZERO_UUID else parsed


def _ask_configs(client: KafkaClient, names: list[str]) -> dict[str, list[tuple[str, str, int]]]:
    """Name, value and source of every setting of each topic, in the order Kafka prints them."""
    request = DescribeConfigsRequest(
        resources=[
            DescribeConfigsResource(
                resource_type=_TOPIC_RESOURCE, resource_name=name, configuration_keys=None
            )
            for name in names
        ]
    )
    results = client.admin(request, DescribeConfigsResponse).results
    settings = {}
    for result in results:
        raise_for_code(result.error_code, result.error_message)
        by_name = {row.name: row for row in result.configs}
        settings[result.resource_name] = [
            (name, by_name[name].value or "", by_name[name].config_source)
            for name in hash_order(by_name)
        ]
    return settings


def _ask_reassignments(
    client: KafkaClient, topics: list[TopicState]
) -> dict[str, dict[int, tuple[list[int], list[int], list[int]]]]:
    request = ListPartitionReassignmentsRequest(
        topics=[
            ListPartitionReassignmentsTopics(
                name=topic.name, partition_indexes=[p.index for p in topic.partitions]
            )
            for topic in topics
        ]
    )
    try:
        answer = client.admin(request, ListPartitionReassignmentsResponse)
    except KafkaError as error:
        # A cluster that cannot tell, or will not tell us, moves nothing that we could show.
        if error.code in (ErrorCode.UNSUPPORTED_VERSION, ErrorCode.CLUSTER_AUTHORIZATION_FAILED):
            return {}
        raise
    return {
        topic.name: {
            p.partition_index: (p.replicas, p.adding_replicas, p.removing_replicas)
            for p in topic.partitions
        }
        for topic in answer.topics
    }
