"""`headrace consumer-groups --list`: which groups of consumers there are."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from headrace.cli.failure import UsageError
from headrace.cli.java_order import hash_order
from headrace.cli.output import print_json, print_with_heading, wants_json
from headrace.client.blocking import KafkaClient
from headrace.client.groups import list_groups
from headrace.protocol.messages.list_groups import ListedGroup

STATES = (
    "PreparingRebalance",
    "CompletingRebalance",
    "Stable",
    "Dead",
    "Empty",
    "Assigning",
    "Reconciling",
)
TYPES = {"classic": "Classic", "consumer": "Consumer"}
#: What groups of consumers say as their protocol; nothing if they only commit offsets.
_PROTOCOLS = ("", "consumer")


def consumer_groups(
    client: KafkaClient, *, states: Iterable[str] = (), types: Iterable[str] = ()
) -> list[ListedGroup]:
    """The groups of consumers, classic and newer, in the order of Kafka's tool."""
    found = {
        row.group_id: row
        for row in list_groups(client, states=states, types=types)
        if row.protocol_type in _PROTOCOLS
    }
    return [found[group] for group in hash_order(found)]


def list_consumer_groups(client: KafkaClient, args: argparse.Namespace) -> int:
    states = parse_states(args.state) if args.state else []
    types = parse_types(args.type) if args.type else []
    groups = consumer_groups(client, states=states, types=types)
    if wants_json(args):
        print_json({"groups": [_as_json(row) for row in groups]})
    elif args.state is None and args.type is None:
        for row in groups:
            print(row.group_id)
    else:
        print_with_heading(_table(groups, args))
    return 0


def _as_json(row: ListedGroup) -> dict[str, str]:
    return {
        "group": row.group_id,
        "type": type_name(row),
        "state": row.group_state,
        "protocol": row.protocol_type,
    }


def _table(groups: list[ListedGroup], args: argparse.Namespace) -> list[str]:
    width = max((len(row.group_id) for row in groups), default=15)
    columns = [("GROUP", [row.group_id for row in groups], max(15, width) + 10)]
    if args.type is not None:
        columns.append(("TYPE", [type_name(row) for row in groups], 20))
    if args.state is not None:
        columns.append(("STATE", [row.group_state or "Unknown" for row in groups], 20))
    head = " ".join(title.ljust(size) for title, _, size in columns)
    rows = zip(*([cell.ljust(size) for cell in cells] for _, cells, size in columns), strict=True)
    return [head, *map(" ".join, rows)]


def type_name(row: ListedGroup) -> str:
    """Brokers say `classic` or `Classic`; the tools print a capital."""
    return row.group_type.capitalize() if row.group_type else "Unknown"


def parse_states(text: str) -> list[str]:
    """State names in any case, with commas or none between their words."""
    known = {state.lower(): state for state in STATES}
    names = [part.strip().lower() for part in text.split(",")]
    if any(name not in known for name in names):
        raise UsageError(f"Invalid state list '{text}'. Valid states are: {', '.join(STATES)}")
    return [known[name] for name in dict.fromkeys(names)]


def parse_types(text: str) -> list[str]:
    names = [part.strip().lower() for part in text.split(",")]
    if any(name not in TYPES for name in names):
        valid = ", ".join(TYPES.values())
        raise UsageError(f"Invalid types list '{text}'. Valid types are: {valid}")
    return [TYPES[name] for name in dict.fromkeys(names)]
