"""`headrace topics`: Kafka's `kafka-topics.sh`."""

from __future__ import annotations

import argparse

from headrace.base.errors import KafkaError
from headrace.cli.connecting import add_connection_arguments, open_client
from headrace.cli.failure import CommandFailedError, UsageError, describe
from headrace.cli.output import add_output_argument, print_json, wants_json
from headrace.cli.topic_names import topic_names
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
            if action == "list":
                list_topics(client, args)
            elif action == "describe":
                from headrace.cli.topics_describe import describe_topics

                describe_topics(client, args)
            else:
                from headrace.cli import topic_changes

                change = {
                    "create": topic_changes.create,
                    "alter": topic_changes.alter,
                    "delete": topic_changes.delete,
                }[action]
                change(client, args)
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


def list_topics(client: KafkaClient, args: argparse.Namespace) -> None:
    topics = topic_names(client, args.topic, exclude_internal=args.exclude_internal)
    if wants_json(args):
        print_json({"topics": topics})
    else:
        print("\n".join(topics))
