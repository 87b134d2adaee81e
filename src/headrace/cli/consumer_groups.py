"""`headrace consumer-groups`: Kafka's `kafka-consumer-groups.sh`."""

from __future__ import annotations

import argparse
import re
import sys

from headrace.base.errors import KafkaError
from headrace.cli.connecting import add_connection_arguments, open_client
from headrace.cli.consumer_groups_errors import java_text
from headrace.cli.failure import UsageError
from headrace.cli.output import add_output_argument, styled, wants_json
from headrace.client.blocking import KafkaClient

ACTIONS = ("list", "describe", "delete", "reset-offsets", "delete-offsets", "validate-regex")
SCENARIOS = (
    "to-offset",
    "shift-by",
    "to-datetime",
    "by-duration",
    "to-earliest",
    "to-latest",
    "to-current",
    "from-file",
)
_DRY_RUN_WARNING = (
    "WARN: No action will be performed as the --execute option is missing."
    " In version 5.0, this command will require either --dry-run or --execute to be specified."
    " You should add the --dry-run option explicitly if you are scripting this command and want"
    " to keep the current default behavior without prompting."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_connection_arguments(parser)
    add_output_argument(parser)
    # `--by-duration -PT1H` is a value like `--shift-by -2`, not an option.
    parser._negative_number_matcher = re.compile(r"-(\d|PT?[-+]?\d)")
    add = parser.add_argument
    add("--list", action="store_true", help="list all consumer groups")
    add("--describe", action="store_true", help="describe groups, with the lag of each partition")
    add("--delete", action="store_true", help="delete groups and their offsets")
    add("--reset-offsets", action="store_true", help="set the offsets of groups without members")
    add("--delete-offsets", action="store_true", help="delete the offsets of a group for topics")
    add("--validate-regex", metavar="REGEX", help="say whether a subscription pattern is valid")
    add("--group", action="append", metavar="GROUP", help="the group; repeatable")
    add("--all-groups", action="store_true", help="all consumer groups")
    add(
        "--topic",
        action="append",
        metavar="TOPIC[:P,P]",
        help="a topic, or some partitions of it; repeatable",
    )
    add("--all-topics", action="store_true", help="all topics that the group has offsets for")
    add("--members", action="store_true", help="describe the members")
    add("--offsets", action="store_true", help="describe the offsets (the default)")
    add(
        "--state",
        nargs="?",
        const="",
        metavar="STATES",
        help="describe the state, or list it; with --list also a filter: stable,empty",
    )
    add(
        "--type",
        nargs="?",
        const="",
        metavar="TYPES",
        help="list the type, also a filter: classic,consumer",
    )
    add("--verbose", action="store_true", help="tell more when describing")
    add("--timeout", type=int, default=5000, metavar="MS", help="how long to wait for answers")
    _add_reset_arguments(parser)


def _add_reset_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--dry-run", action="store_true", help="only show the new offsets")
    add("--execute", action="store_true", help="set the new offsets")
    add("--export", action="store_true", help="print the new offsets as CSV")
    add("--to-offset", type=int, metavar="OFFSET", help="reset to this offset")
    add("--shift-by", type=int, metavar="N", help="move by so many, back if negative")
    add("--to-datetime", metavar="TIME", help="to a time: YYYY-MM-DDTHH:mm:SS.sss")
    add("--by-duration", metavar="DURATION", help="to so long ago: PnDTnHnMnS")
    add("--to-earliest", action="store_true", help="to the oldest records")
    add("--to-latest", action="store_true", help="to the end")
    add("--to-current", action="store_true", help="to what is committed now")
    add("--from-file", metavar="FILE", help="to the offsets in a CSV file, as --export writes it")


def run(args: argparse.Namespace) -> int:
    action = check_arguments(args)
    if action == "validate-regex":
        from headrace.cli.consumer_groups_regex import validate_regex

        return validate_regex(args)
    extra = {"default.api.timeout.ms": str(args.timeout)}
    with open_client(args, "headrace-consumer-groups", extra) as client:
        try:
            return _act(action, client, args)
        except KafkaError as error:
            print_error(f"Executing consumer group command failed due to {java_text(error)}", args)
            return 1


def _act(action: str, client: KafkaClient, args: argparse.Namespace) -> int:
    if action == "list":
        from headrace.cli.consumer_groups_list import list_consumer_groups

        return list_consumer_groups(client, args)
    if action == "describe":
        from headrace.cli.consumer_groups_describe import describe_consumer_groups

        return describe_consumer_groups(client, args)
    if action == "reset-offsets":
        from headrace.cli.consumer_groups_reset import reset_offsets

        return reset_offsets(client, args)
    from headrace.cli import consumer_groups_delete

    if action == "delete":
        return consumer_groups_delete.delete(client, args)
    return consumer_groups_delete.delete_offsets_of(client, args)


# -------------------------------------------------------------------- which options go together


def check_arguments(args: argparse.Namespace) -> str:
    """The one action that was asked for; `UsageError` for options that do not go together."""
    chosen = [action for action in ACTIONS if given(args, action)]
    if len(chosen) != 1:
        raise UsageError(
            "Command must include exactly one action: --list, --describe, --delete,"
            " --reset-offsets, --delete-offsets, --validate-regex"
        )
    action = chosen[0]
    has_scope = given(args, "group") or args.all_groups
    if action in ("describe", "delete", "reset-offsets") and not has_scope:
        raise UsageError(f"Option [{action}] takes one of these options: [group], [all-groups]")
    if args.group and args.all_groups:
        raise _combination("group", "all-groups")
    if args.group and action == "list":
        raise _combination("group", action)
    if args.topic and action in ("list", "describe"):
        raise _combination("topic", action)
    if args.type is not None and action != "list":
        raise _combination("type", action)
    _check_describe(args, action)
    if action == "delete" and args.topic:
        raise UsageError(
            "The consumer does not support topic-specific offset deletion from a consumer group."
        )
    if action == "delete-offsets" and not (args.group and args.topic):
        raise UsageError("Option [delete-offsets] takes the following options: [group], [topic]")
    if action == "reset-offsets":
        _check_reset(args)
    return action


def _check_describe(args: argparse.Namespace, action: str) -> None:
    views = [view for view in ("members", "offsets", "state") if given(args, view)]
    if action == "describe":
        if len(views) > 1:
            raise UsageError(
                "Option [describe] takes at most one of these options:"
                " [members], [offsets], [state]"
            )
        if args.state:
            raise UsageError("Option [describe] does not take a value for [state]")
        return
    for option in ("members", "offsets", "verbose", "state"):
        if given(args, option) and not (option == "state" and action == "list"):
            raise _combination(option, action)


def _check_reset(args: argparse.Namespace) -> None:
    if args.dry_run and args.execute:
        raise UsageError("Option [reset-offsets] only accepts one of [execute] and [dry-run]")
    scenarios = [scenario for scenario in SCENARIOS if given(args, scenario)]
    if not scenarios:
        raise UsageError(
            "Option '[reset-offsets]' requires one of the following scenarios:"
            f" {', '.join(SCENARIOS)}"
        )
    if len(scenarios) > 1:
        raise _combination(scenarios[0], scenarios[1])
    if not args.all_topics and not args.topic and args.from_file is None:
        raise UsageError("One of the reset scopes should be defined: --all-topics, --topic.")
    if not args.dry_run and not args.execute:
        print(_DRY_RUN_WARNING, file=sys.stderr)


def given(args: argparse.Namespace, option: str) -> bool:
    value = getattr(args, option.replace("-", "_"))
    return value is not None and value is not False


def _combination(one: str, other: str) -> UsageError:
    return UsageError(f'Option "[{one}]" can\'t be used with option "[{other}]"')


def chosen_groups(client: KafkaClient, args: argparse.Namespace) -> list[str]:
    """The groups of `--group`, or all groups of consumers."""
    from headrace.cli.consumer_groups_list import consumer_groups

    if args.all_groups:
        return [row.group_id for row in consumer_groups(client)]
    return list(dict.fromkeys(args.group))


def print_error(text: str, args: argparse.Namespace | None = None) -> None:
    tell(f"Error: {text}", "red", args)


def tell(text: str, style: str, args: argparse.Namespace | None = None) -> None:
    """Kafka's tool tells errors and warnings among its results, on stdout.

    Where the results are a JSON document nothing else may stand there.
    """
    if args is not None and wants_json(args):
        print(styled(text, style, sys.stderr), file=sys.stderr)
    else:
        print(styled(f"\n{text}", style))
