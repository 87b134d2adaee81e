"""`headrace topics --describe`: gathers what the cluster knows and prints it in Kafka's lines."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, field

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.uuids import ZERO_UUID, format_uuid, parse_uuid
from headrace.cli.failure import CommandFailedError
from headrace.cli.java_order import hash_order
from headrace.cli.output import print_json, wants_json
from headrace.cli.topic_partitions import PartitionState, TopicState, ask_partitions
from headrace.cli.topics import require_topics, topic_names
from headrace.client.blocking import KafkaClient
from headrace.client.metadata import ask_topics

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


def describe_topics(client: KafkaClient, args: argparse.Namespace) -> None:
    descriptions = list(_gather(client, args))
    live = set(client.refresh().nodes)
    if wants_json(args):
        print_json({"topics": [_as_json(d, args, live) for d in descriptions]})
        return
    for description in descriptions:
        if not _reports(args) and (description.overrides or not args.topics_with_overrides):
            print(topic_line(description))
        if not args.topics_with_overrides:
            for partition in description.topic.partitions:
                if _is_wanted(description, partition, args, live):
                    print(partition_line(description, partition))


def topic_line(description: Description) -> str:
    topic = description.topic
    topic_id = f"\tTopicId: {format_uuid(topic.topic_id)}" if topic.topic_id != ZERO_UUID else ""
    overrides = ",".join(f"{name}={value}" for name, value in description.overrides.items())
    return (
        f"Topic: {topic.name}{topic_id}\tPartitionCount: {len(topic.partitions)}"
        f"\tReplicationFactor: {description.replication_factor(topic.partitions[0])}"
        f"\tConfigs: {overrides}"
    )


def partition_line(description: Description, partition: PartitionState) -> str:
    line = (
        f"\tTopic: {description.topic.name}\tPartition: {partition.index}"
        f"\tLeader: {partition.leader if partition.leader >= 0 else 'none'}"
        f"\tReplicas: {_ids(partition.replicas)}\tIsr: {_ids(partition.isr)}"
    )
    if partition.index in description.moves:
        _, adding, removing = description.moves[partition.index]
        line += f"\tAdding Replicas: {_ids(adding)}\tRemoving Replicas: {_ids(removing)}"
    elr = "N/A" if partition.elr is None else _ids(partition.elr)
    last_known = "N/A" if partition.last_known_elr is None else _ids(partition.last_known_elr)
    return f"{line}\tElr: {elr}\tLastKnownElr: {last_known}"


def _ids(nodes: list[int]) -> str:
    return ",".join(map(str, nodes))


# -------------------------------------------------------------------- which partitions


def _reports(args: argparse.Namespace) -> bool:
    return bool(
        args.under_replicated_partitions
        or args.unavailable_partitions
        or args.under_min_isr_partitions
        or args.at_min_isr_partitions
    )


def _is_wanted(
    description: Description, partition: PartitionState, args: argparse.Namespace, live: set[int]
) -> bool:
    if not _reports(args):
        return True
    min_isr = int(description.configs.get("min.insync.replicas", "1"))
    in_sync = len(partition.isr)
    return (
        (args.under_replicated_partitions and description.replication_factor(partition) > in_sync)
        or (args.unavailable_partitions and partition.leader not in live)
        or (args.under_min_isr_partitions and (partition.leader < 0 or in_sync < min_isr))
        or (args.at_min_isr_partitions and in_sync == min_isr)
    )


def _as_json(
    description: Description, args: argparse.Namespace, live: set[int]
) -> dict[str, object]:
    topic = description.topic
    return {
        "topic": topic.name,
        "topicId": format_uuid(topic.topic_id),
        "partitionCount": len(topic.partitions),
        "replicationFactor": description.replication_factor(topic.partitions[0]),
        "configs": description.overrides,
        "partitions": [
            {
                "partition": partition.index,
                "leader": partition.leader if partition.leader >= 0 else None,
                "replicas": partition.replicas,
                "isr": partition.isr,
                "elr": partition.elr,
                "lastKnownElr": partition.last_known_elr,
            }
            for partition in topic.partitions
            if _is_wanted(description, partition, args, live)
        ],
    }


# -------------------------------------------------------------------- gathering


def _gather(client: KafkaClient, args: argparse.Namespace) -> Iterator[Description]:
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
            raise CommandFailedError(
                "Error while executing topic command :"
                f" TopicId '{args.topic_id}' does not exist as expected"
            )
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
        raise CommandFailedError(f"Error while executing topic command : {error}") from error
    return None if parsed == ZERO_UUID else parsed


def _ask_configs(client: KafkaClient, names: list[str]) -> dict[str, list[tuple[str, str, int]]]:
    """Name, value and source of every setting of each topic, in the order Kafka prints them."""
    from headrace.client.errors import raise_for_code
    from headrace.protocol.messages.describe_configs import (
        DescribeConfigsRequest,
        DescribeConfigsResource,
        DescribeConfigsResponse,
    )

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
    from headrace.protocol.messages.list_partition_reassignments import (
        ListPartitionReassignmentsRequest,
        ListPartitionReassignmentsResponse,
        ListPartitionReassignmentsTopics,
    )

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
