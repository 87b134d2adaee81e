"""`headrace consumer-groups --reset-offsets`: new offsets for groups that have no members."""

from __future__ import annotations

import argparse
import csv
import io
from typing import TypeAlias

from headrace.base.errors import ErrorCode, KafkaError
from headrace.cli.consumer_groups import chosen_groups, print_error
from headrace.cli.consumer_groups_scenarios import new_offsets
from headrace.cli.consumer_groups_topics import named_partitions, require_partitions
from headrace.cli.java_order import hash_order, partition_order
from headrace.cli.output import print_json, wants_json
from headrace.client.blocking import KafkaClient
from headrace.client.groups_describe import GroupDescription, describe_groups
from headrace.client.groups_offsets import CommittedOffset, commit_offsets, committed_offsets
from headrace.client.leaders import TopicPartition

#: The new offsets, by group and partition.
Plan: TypeAlias = dict[str, dict[TopicPartition, int]]


def reset_offsets(client: KafkaClient, args: argparse.Namespace) -> int:
    plan: Plan = {}
    refused = False
    found = describe_groups(client, chosen_groups(client, args))
    for group in hash_order(found):
        if _is_inactive(group, found[group], args):
            plan[group] = _reset(client, group, args)
        else:
            refused = True
            plan[group] = {}
    if wants_json(args):
        print_json({"offsets": _as_json(plan)})
    elif args.export:
        print(csv_text(plan, with_group=len(args.group or ()) != 1))
    else:
        _print(plan)
    return int(refused)


def _is_inactive(
    group: str, description: GroupDescription | KafkaError, args: argparse.Namespace
) -> bool:
    """A group that does not exist yet may get offsets as well."""
    if isinstance(description, KafkaError):
        if description.code is ErrorCode.GROUP_ID_NOT_FOUND:
            return True
        raise description
    if description.state in ("Empty", "Dead"):
        return True
    print_error(
        f"Assignments can only be reset if the group '{group}' is inactive,"
        f" but the current state is {description.state}.",
        args,
    )
    return False


def _reset(client: KafkaClient, group: str, args: argparse.Namespace) -> dict[TopicPartition, int]:
    committed = committed_offsets(client, group)
    if args.all_topics:
        partitions = list(committed)
    else:
        partitions = named_partitions(client, args.topic or [])
    require_partitions(client, partitions)
    offsets = new_offsets(client, group, partitions, committed, args)
    ordered = {partition: offsets[partition] for partition in partition_order(offsets)}
    if args.execute:
        rows = {partition: CommittedOffset(offset) for partition, offset in ordered.items()}
        commit_offsets(client, group, rows)
    return ordered


def _print(plan: Plan) -> None:
    topics = [topic for offsets in plan.values() for topic, _ in offsets]
    widths = (max(15, *map(len, plan)) if plan else 15, max([15, *map(len, topics)]))
    rows = [("GROUP", "TOPIC", "PARTITION", "NEW-OFFSET")] if plan else []
    for group, offsets in plan.items():
        for (topic, index), offset in offsets.items():
            rows.append((group, topic, str(index), str(offset)))
    for group, topic, partition, new in rows:
        line = f"{group:<{widths[0]}} {topic:<{widths[1]}} {partition:<10} {new}"
        print(f"\n{line}", end="")
    print()


def csv_text(plan: Plan, *, with_group: bool) -> str:
    """`topic,partition,offset` lines, the group in front if there are several."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for group, offsets in plan.items():
        for (topic, index), offset in offsets.items():
            writer.writerow([*([group] if with_group else []), topic, index, offset])
    return out.getvalue()


def _as_json(plan: Plan) -> list[dict[str, object]]:
    return [
        {"group": group, "topic": topic, "partition": index, "newOffset": offset}
        for group, offsets in plan.items()
        for (topic, index), offset in offsets.items()
    ]
