"""`headrace topics --create`, `--alter` and `--delete`."""

from __future__ import annotations

import argparse

from headrace.base.errors import ErrorCode, KafkaError
from headrace.cli.output import print_json, wants_json
from headrace.cli.topic_names import failed, require_topics, topic_names
from headrace.client.blocking import KafkaClient
from headrace.client.errors import raise_for_code

_COLLISION_WARNING = (
    "WARNING: Due to limitations in metric names, topics with a period ('.') or underscore ('_')"
    " could collide. To avoid issues it is best to use either, but not both."
)


def create(client: KafkaClient, args: argparse.Namespace) -> None:
    """Create one topic and say so, in Kafka's words."""
    from headrace.protocol.messages.create_topics import (
        CreatableReplicaAssignment,
        CreatableTopic,
        CreatableTopicConfig,
        CreateTopicsRequest,
        CreateTopicsResponse,
    )

    if args.replication_factor is not None and not 1 <= args.replication_factor <= 32767:
        raise failed("The replication factor must be between 1 and 32767 inclusive")
    if args.partitions is not None and args.partitions < 1:
        raise failed("The partitions must be greater than 0")
    assignment = parse_replica_assignment(args.replica_assignment)
    topic = CreatableTopic(
        name=args.topic,
        num_partitions=args.partitions or -1,
        replication_factor=args.replication_factor or -1,
        assignments=[
            CreatableReplicaAssignment(partition_index=index, broker_ids=brokers)
            for index, brokers in enumerate(assignment)
        ],
        configs=[
            CreatableTopicConfig(name=name, value=value)
            for name, value in parse_topic_configs(args.config or []).items()
        ],
    )
    if not wants_json(args) and ("." in args.topic or "_" in args.topic):
        print(_COLLISION_WARNING)

    def check(response: CreateTopicsResponse) -> None:
        for result in response.topics:
            raise_for_code(result.error_code, result.error_message)

    request = CreateTopicsRequest(topics=[topic], timeout_ms=client.config.request_timeout_ms)
    try:
        client.admin(request, CreateTopicsResponse, check=check)
    except KafkaError as error:
        if error.code is ErrorCode.TOPIC_ALREADY_EXISTS and args.if_not_exists:
            return
        raise
    if wants_json(args):
        print_json({"created": args.topic})
    else:
        print(f"Created topic {args.topic}.")


def alter(client: KafkaClient, args: argparse.Namespace) -> None:
    """Raise the number of partitions of the topics that match."""
    from headrace.client.metadata import ask_topics
    from headrace.protocol.messages.create_partitions import (
        CreatePartitionsAssignment,
        CreatePartitionsRequest,
        CreatePartitionsResponse,
        CreatePartitionsTopic,
    )

    topics = topic_names(client, args.topic)
    require_topics(topics, args)
    if not topics:
        return
    assignment = parse_replica_assignment(args.replica_assignment)
    have = {t.name: len(t.partitions) for t in ask_topics(client.any_node(), topics).topics}
    request = CreatePartitionsRequest(
        topics=[
            CreatePartitionsTopic(
                name=topic,
                count=args.partitions,
                assignments=[
                    CreatePartitionsAssignment(broker_ids=brokers)
                    for brokers in assignment[have.get(topic, 0) :]
                ]
                if assignment
                else None,
            )
            for topic in topics
        ],
        timeout_ms=client.config.request_timeout_ms,
    )

    def check(response: CreatePartitionsResponse) -> None:
        for result in response.results:
            raise_for_code(result.error_code, result.error_message)

    client.admin(request, CreatePartitionsResponse, check=check)


def delete(client: KafkaClient, args: argparse.Namespace) -> None:
    from headrace.protocol.messages.delete_topics import (
        DeleteTopicsRequest,
        DeleteTopicsResponse,
        DeleteTopicState,
    )

    topics = topic_names(client, args.topic)
    require_topics(topics, args)
    if not topics:
        return
    request = DeleteTopicsRequest(
        topics=[DeleteTopicState(name=topic) for topic in topics],
        topic_names=topics,
        timeout_ms=client.config.request_timeout_ms,
    )

    def check(response: DeleteTopicsResponse) -> None:
        for result in response.responses:
            raise_for_code(result.error_code, result.error_message)

    client.admin(request, DeleteTopicsResponse, check=check)


def parse_replica_assignment(text: str | None) -> list[list[int]]:
    """`1:2,2:3`: the brokers of partition 0, then those of partition 1."""
    if not text:
        return []
    try:
        assignment = [[int(broker) for broker in part.split(":")] for part in text.split(",")]
    except ValueError as error:
        raise failed(f"Cannot read the replica assignment {text}") from error
    for index, brokers in enumerate(assignment):
        repeated = sorted({broker for broker in brokers if brokers.count(broker) > 1})
        if repeated:
            raise failed(
                "Partition replica lists may not contain duplicate entries: "
                + ",".join(map(str, repeated))
            )
        if len(brokers) != len(assignment[0]):
            raise failed(f"Partition {index} has different replication factor: {brokers}")
    return assignment


def parse_topic_configs(pairs: list[str]) -> dict[str, str]:
    configs = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip() or not value.strip() or "=" in value:
            raise failed(
                "requirement failed: Invalid topic config: all configs to be added must be in"
                ' the format "key=val".'
            )
        configs[name.strip()] = value.strip()
    return configs
