"""`headrace consumer-groups --describe`: offsets and lag, members, or the state of groups."""

from __future__ import annotations

import argparse
import sys

from headrace.base.errors import KafkaError
from headrace.cli.consumer_groups import chosen_groups, print_error
from headrace.cli.consumer_groups_lag import PartitionLag, group_lag
from headrace.cli.consumer_groups_members import members_as_json, print_members
from headrace.cli.failure import CommandFailedError
from headrace.cli.output import print_json, print_with_heading, styled, wants_json
from headrace.client.blocking import KafkaClient
from headrace.client.groups_describe import GroupDescription, describe_groups

_REBALANCING = ("PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling")
MISSING = "-"


def describe_consumer_groups(client: KafkaClient, args: argparse.Namespace) -> int:
    groups = []
    found = describe_groups(client, chosen_groups(client, args))
    for _, group in sorted(found.items()):
        if isinstance(group, KafkaError):
            raise group
        groups.append(group)
    if wants_json(args):
        print_json({"groups": [_as_json(client, group, args) for group in groups]})
        return 0
    if args.members:
        for group in groups:
            tell_state(group)
            print_members(group, verbose=args.verbose)
    elif args.state is not None:
        for group in groups:
            if tell_state(group):
                _print_state(group, verbose=args.verbose)
    else:
        for group, rows in [(group, group_lag(client, group)) for group in groups]:
            if tell_state(group) and rows:
                _print_offsets(group, rows, verbose=args.verbose)
    return 0


def tell_state(group: GroupDescription) -> bool:
    """Say what a reader should know of the group's state; False if there is no such group."""
    name = group.group_id
    if group.state == "Dead":
        print_error(f"Consumer group '{name}' does not exist.")
        return False
    if group.state == "Empty":
        _warn(f"\nConsumer group '{name}' has no active members.")
    elif group.state in _REBALANCING:
        _warn(f"\nWarning: Consumer group '{name}' is rebalancing.")
    elif group.state != "Stable":
        raise CommandFailedError(
            f"Expected a valid consumer group state, but found '{group.state}'."
        )
    return True


def _warn(text: str) -> None:
    sys.stdout.flush()
    print(styled(text, "yellow", sys.stderr), file=sys.stderr)


# -------------------------------------------------------------------- --offsets


def _print_offsets(group: GroupDescription, rows: list[PartitionLag], *, verbose: bool) -> None:
    head = [("GROUP", 15), ("TOPIC", 15), ("PARTITION", 10)]
    if verbose:
        head.append(("LEADER-EPOCH", 15))
    head += [("CURRENT-OFFSET", 15), ("LOG-END-OFFSET", 15), ("LAG", 15)]
    head += [("CONSUMER-ID", 15), ("HOST", 15), ("CLIENT-ID", 0)]
    cells = [_offset_cells(group, row, verbose=verbose) for row in rows]
    widths = [size for _, size in head]
    for column in (0, 1, len(head) - 3, len(head) - 2):
        widths[column] = max(15, *(len(row[column]) for row in cells))
    lines = [
        " ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in [[title for title, _ in head], *cells]
    ]
    print()
    print_with_heading(lines)


def _offset_cells(group: GroupDescription, row: PartitionLag, *, verbose: bool) -> list[str]:
    epoch = [_text(row.leader_epoch)] if verbose else []
    return [
        *(group.group_id, row.topic, str(row.partition), *epoch),
        *(_text(row.offset), _text(row.log_end_offset), _text(row.lag)),
        *(row.consumer_id, row.host, row.client_id),
    ]


def _text(value: int | None) -> str:
    return MISSING if value is None else str(value)


# -------------------------------------------------------------------- --state


def _print_state(group: GroupDescription, *, verbose: bool) -> None:
    node = group.coordinator
    coordinator = f"{node.host}:{node.port}  ({node.node_id})"
    row = [
        ("GROUP", group.group_id, max(15, len(group.group_id))),
        ("COORDINATOR (ID)", coordinator, max(25, len(coordinator))),
        ("ASSIGNMENT-STRATEGY", group.assignor or MISSING, 20),
        ("STATE", group.state, 20),
    ]
    if verbose:
        row += [
            ("GROUP-EPOCH", _text(group.group_epoch), 15),
            ("TARGET-ASSIGNMENT-EPOCH", _text(group.assignment_epoch), 25),
        ]
    row.append(("#MEMBERS", str(len(group.members)), 0))
    titles = " ".join(title.ljust(width) for title, _, width in row)
    print()
    print_with_heading([titles, " ".join(cell.ljust(width) for _, cell, width in row)])


# -------------------------------------------------------------------- -o json


def _as_json(
    client: KafkaClient, group: GroupDescription, args: argparse.Namespace
) -> dict[str, object]:
    document: dict[str, object] = {
        "group": group.group_id,
        "state": group.state,
        "coordinator": group.coordinator.node_id,
        "assignmentStrategy": group.assignor or None,
        "groupEpoch": group.group_epoch,
        "targetAssignmentEpoch": group.assignment_epoch,
        "memberCount": len(group.members),
    }
    if args.members:
        document["members"] = members_as_json(group)
    elif args.state is None:
        document["offsets"] = [row.as_json() for row in group_lag(client, group)]
    return document
