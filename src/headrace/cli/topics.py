"""`headrace topics`: Kafka's `kafka-topics.sh`."""

from __future__ import annotations

import argparse
import re

from headrace.base.errors import KafkaError
from headrace.cli.connecting import add_connection_arguments, open_client
from headrace.cli.failure import CommandFailedError, UsageError, describe
from headrace.cli.output import add_output_argument, print_json, wants_json
from headrace.client.blocking import KafkaClient

ACTIONS = ("create", "list", "alter", "describe", "delete")
_REPORTS = (
    "under-replicated-partitions",
    "unavailable-partitions",
    "under-min-isr-partitions",
    "at-min-isr-partitions",
)
#: Which actions each option goes with, and the reports it cannot be combined with.
_VALID_ACTIONS = {
    "config": ("create",),
    "partitions": ("create", "alter"),
    "replication-factor": ("create",),
    "replica-assignment": ("create", "alter"),
    "topics-with-overrides": ("describe",),
    "if-exists": ("alter", "delete", "describe"),
    "if-not-exists": ("create",),
    "exclude-internal": ("list", "describe"),
    **dict.fromkeys(_REPORTS, ("describe",)),
}
_COLLISION_WARNING = (
    "WARNING: Due to limitations in metric names, topics with a period ('.') or underscore ('_')"
    " could collide. To avoid issues it is best to use either, but not both."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_connection_arguments(parser)
    add_output_argument(parser)
    for action in ACTIONS:
        parser.add_argument(f"--{action}", action="store_true", help=f"{action} topics")
    add = parser.add_argument
    add("--topic", help="the topic; also a regular expression, except for --create")
    add("--topic-id", help="the id of the topic to describe")
    add("--partitions", type=int, metavar="N", help="how many partitions to create, or to have")
    add("--replication-factor", type=int, metavar="N", help="replicas of each partition created")
    add(
        "--replica-assignment",
        metavar="B:B,B:B",
        help="brokers of each partition: replicas of one with colons, partitions with commas",
    )
    add(
        "--config",
        action="append",
        metavar="NAME=VALUE",
        help="a setting of the topic being created",
    )
    add("--delete-config", action="append", help=argparse.SUPPRESS)
    add("--if-exists", action="store_true", help="do nothing if the topic does not exist")
    add("--if-not-exists", action="store_true", help="do nothing if the topic exists")
    add("--exclude-internal", action="store_true", help="leave out Kafka's own topics")
    add("--topics-with-overrides", action="store_true", help="only topics with settings")
    for report in _REPORTS:
        what = report.removesuffix("-partitions").replace("-", " ")
        add(f"--{report}", action="store_true", help=f"describe only partitions that are {what}")
    add(
        "--partition-size-limit-per-response",
        type=int,
        metavar="N",
        help="the largest number of partitions in one response when describing",
    )


def run(args: argparse.Namespace) -> int:
    action = check_arguments(args)
    with open_client(args, "headrace-topics") as client:
        try:
            if action == "create":
                create(client, args)
            elif action == "alter":
                alter(client, args)
            elif action == "delete":
                delete(client, args)
            elif action == "list":
                list_topics(client, args)
            else:
                from headrace.cli.topics_describe import describe_topics

                describe_topics(client, args)
        except KafkaError as error:
            raise CommandFailedError(
                f"Error while executing topic command : {describe(error)}"
            ) from error
    return 0


def check_arguments(args: argparse.Namespace) -> str:
    """The one action that was asked for; `UsageError` for options that do not go together."""
    chosen = [action for action in ACTIONS if getattr(args, action)]
    if len(chosen) != 1:
        raise UsageError(
            "Command must include exactly one action:"
            " --list, --describe, --create, --alter or --delete"
        )
    action = chosen[0]
    if args.topic is None and action in ("create", "alter", "delete"):
        raise UsageError('Missing required argument "[topic]"')
    if action == "describe" and args.if_exists and args.topic is None and args.topic_id is None:
        raise UsageError("--topic or --topic-id is required to describe a topic")
    if action == "alter" and args.config:
        raise UsageError("Topic configurations are altered with `headrace configs --alter`.")
    if action == "alter" and args.partitions is None:
        raise UsageError('Missing required argument "[partitions]"')
    for option, valid in _VALID_ACTIONS.items():
        if _given(args, option) and action not in valid:
            raise _combination(option, action)
    for option in ("partitions", "replication-factor"):
        if action == "create" and args.replica_assignment and _given(args, option):
            raise _combination("replica-assignment", option)
    reports = [report for report in _REPORTS if _given(args, report)]
    if args.topics_with_overrides and reports:
        raise _combination("topics-with-overrides", reports[0])
    if len(reports) > 1:
        raise _combination(reports[0], reports[1])
    return action


def _given(args: argparse.Namespace, option: str) -> bool:
    return getattr(args, option.replace("-", "_")) not in (None, False)


def _combination(one: str, other: str) -> UsageError:
    return UsageError(f'Option "[{one}]" can\'t be used with option "[{other}]"')


# -------------------------------------------------------------------- the actions


def create(client: KafkaClient, args: argparse.Namespace) -> None:
    """Create one topic and say so, in Kafka's words."""
    from headrace.base.errors import ErrorCode
    from headrace.client.errors import raise_for_code
    from headrace.protocol.messages.create_topics import (
        CreatableReplicaAssignment,
        CreatableTopic,
        CreatableTopicConfig,
        CreateTopicsRequest,
        CreateTopicsResponse,
    )

    if args.replication_factor is not None and not 1 <= args.replication_factor <= 32767:
        raise _failed("The replication factor must be between 1 and 32767 inclusive")
    if args.partitions is not None and args.partitions < 1:
        raise _failed("The partitions must be greater than 0")
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


def list_topics(client: KafkaClient, args: argparse.Namespace) -> None:
    topics = topic_names(client, args.topic, exclude_internal=args.exclude_internal)
    if wants_json(args):
        print_json({"topics": topics})
    else:
        print("\n".join(topics))


def alter(client: KafkaClient, args: argparse.Namespace) -> None:
    """Raise the number of partitions of the topics that match."""
    from headrace.client.errors import raise_for_code
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
    from headrace.client.errors import raise_for_code
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


# -------------------------------------------------------------------- shared by the actions


def topic_names(
    client: KafkaClient, pattern: str | None, *, exclude_internal: bool = False
) -> list[str]:
    """The names of all topics that match, sorted."""
    from headrace.cli.topic_filter import TopicFilter
    from headrace.client.metadata import ask_topics

    answer = client.retry(lambda: ask_topics(client.any_node(), None))
    matches = TopicFilter(".*" if pattern is None else pattern)
    return sorted(
        topic.name
        for topic in answer.topics
        if topic.name is not None
        and not (exclude_internal and topic.is_internal)
        and matches.allows(topic.name, exclude_internal=exclude_internal)
    )


def require_topics(found: list[str], args: argparse.Namespace) -> None:
    if args.topic and not found and not args.if_exists:
        raise _failed(f"Topic '{args.topic}' does not exist as expected")


def parse_replica_assignment(text: str | None) -> list[list[int]]:
    """`1:2,2:3`: the brokers of partition 0, then those of partition 1."""
    if not text:
        return []
    try:
        assignment = [[int(broker) for broker in part.split(":")] for part in text.split(",")]
    except ValueError as error:
        raise _failed(f"Cannot read the replica assignment {text}") from error
    for index, brokers in enumerate(assignment):
        repeated = sorted({broker for broker in brokers if brokers.count(broker) > 1})
        if repeated:
            raise _failed(
                "Partition replica lists may not contain duplicate entries: "
                + ",".join(map(str, repeated))
            )
        if len(brokers) != len(assignment[0]):
            raise _failed(f"Partition {index} has different replication factor: {brokers}")
    return assignment


def parse_topic_configs(pairs: list[str]) -> dict[str, str]:
    configs = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip() or not value.strip() or re.search(r"=", value):
            raise _failed(
                "requirement failed: Invalid topic config: all configs to be added must be in"
                ' the format "key=val".'
            )
        configs[name.strip()] = value.strip()
    return configs


def _failed(text: str) -> CommandFailedError:
    return CommandFailedError(f"Error while executing topic command : {text}")
