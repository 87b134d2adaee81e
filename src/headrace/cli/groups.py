"""`headrace groups`: Kafka's `kafka-groups.sh`, which lists groups of every kind."""

from __future__ import annotations

import argparse

from headrace.base.errors import KafkaError
from headrace.cli.connecting import add_connection_arguments, open_client
from headrace.cli.failure import CommandFailedError, UsageError, describe
from headrace.cli.java_order import hash_order
from headrace.cli.output import add_output_argument, print_json, print_with_heading, wants_json
from headrace.client.groups import list_groups
from headrace.protocol.messages.list_groups import ListedGroup

_TYPES = ("classic", "consumer", "share", "streams")
_KINDS = ("consumer", "share", "streams")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_connection_arguments(parser)
    add_output_argument(parser)
    add = parser.add_argument
    add("--list", action="store_true", help="list the groups")
    add("--group-type", metavar="TYPE", help=f"only groups of this type: {', '.join(_TYPES)}")
    add("--protocol", help="only groups with this protocol type")
    add(
        "--consumer",
        action="store_true",
        help="only groups of consumers: of type consumer, and classic ones of consumers",
    )
    add("--share", action="store_true", help="only share groups")
    add("--streams", action="store_true", help="only streams groups")


def run(args: argparse.Namespace) -> int:
    check_arguments(args)
    with open_client(args, "headrace-groups") as client:
        try:
            found = {row.group_id: row for row in list_groups(client)}
        except KafkaError as error:
            raise CommandFailedError(
                f"Error while executing groups command : {describe(error)}"
            ) from error
    groups = [found[name] for name in hash_order(found) if is_wanted(found[name], args)]
    if wants_json(args):
        print_json({"groups": [dict(zip(_KEYS, _cells(row), strict=True)) for row in groups]})
    else:
        _print(groups)
    return 0


_KEYS = ("group", "type", "protocol")


def check_arguments(args: argparse.Namespace) -> None:
    if not args.list:
        raise UsageError("Command must include exactly one action: --list.")
    if args.group_type is not None and args.group_type.lower() not in _TYPES:
        raise UsageError("--group-type must be a valid group type.")
    given = [kind for kind in _KINDS if getattr(args, kind)]
    given += [name for name in ("group-type", "protocol") if getattr(args, name.replace("-", "_"))]
    if len(given) > 1 and given[0] in _KINDS:
        raise UsageError(f'Option "[{given[0]}]" can\'t be used with option "[{given[1]}]"')


def is_wanted(group: ListedGroup, args: argparse.Namespace) -> bool:
    kind = group.group_type.lower()
    if args.group_type is not None:
        matches = args.protocol is None or group.protocol_type == args.protocol
        return kind == args.group_type.lower() and matches
    if args.protocol is not None:
        return bool(group.protocol_type == args.protocol)
    if args.consumer:
        return group.protocol_type in ("consumer", "") or kind == "consumer"
    if args.share:
        return kind == "share"
    return kind == "streams" if args.streams else True


def _cells(group: ListedGroup) -> tuple[str, str, str]:
    return group.group_id, group.group_type.capitalize(), group.protocol_type


def _print(groups: list[ListedGroup]) -> None:
    rows = [_cells(group) for group in groups]
    width = max([20, *(len(cell) for row in rows for cell in row)])
    heading = " ".join(title.ljust(width) for title in ("GROUP", "TYPE", "PROTOCOL"))
    print_with_heading(
        [heading, *("".join(cell.ljust(width) + " " for cell in row) for row in rows)]
    )
