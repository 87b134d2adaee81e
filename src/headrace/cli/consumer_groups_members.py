"""`headrace consumer-groups --describe --members`: who is in a group, and with which partitions."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.cli.output import print_with_heading
from headrace.client.groups_describe import GroupDescription, MemberDescription
from headrace.client.leaders import TopicPartition

_MISSING = "-"
#: The narrowest that each column gets.
_WIDTHS = {
    "GROUP": 15,
    "CONSUMER-ID": 15,
    "GROUP-INSTANCE-ID": 17,
    "HOST": 15,
    "CLIENT-ID": 15,
    "#PARTITIONS": 15,
    "CURRENT-EPOCH": 15,
    "CURRENT-ASSIGNMENT": 20,
    "TARGET-EPOCH": 15,
    "TARGET-ASSIGNMENT": 20,
    "UPGRADED": 0,
}
#: Columns that Kafka does not widen, however long their cells are.
_FIXED = ("#PARTITIONS", "CURRENT-EPOCH", "TARGET-EPOCH", "UPGRADED")


def print_members(group: GroupDescription, *, verbose: bool) -> None:
    """Kafka prints the head of the table even where there is no member."""
    rows = [_cells(group, member) for member in group.members]
    titles = ["GROUP", "CONSUMER-ID", "GROUP-INSTANCE-ID", "HOST", "CLIENT-ID", "#PARTITIONS"]
    if not any(row["GROUP-INSTANCE-ID"] for row in rows):
        titles.remove("GROUP-INSTANCE-ID")
    details: list[str] = []
    if verbose:
        details = ["CURRENT-EPOCH", "CURRENT-ASSIGNMENT", "TARGET-EPOCH", "TARGET-ASSIGNMENT"]
        if {True, False} <= {member.upgraded for member in group.members}:
            details.append("UPGRADED")
    widths = {
        title: max([size, *(len(row[title]) for row in rows if title not in _FIXED)])
        for title, size in _WIDTHS.items()
    }
    lines = []
    for row in [dict(zip(_WIDTHS, _WIDTHS, strict=True)), *rows]:
        line = "".join(row[title].ljust(widths[title]) + " " for title in titles)
        lines.append(line + " ".join(row[title].ljust(widths[title]) for title in details))
    print()
    print_with_heading(lines)


def _cells(group: GroupDescription, member: MemberDescription) -> dict[str, str]:
    return {
        "GROUP": group.group_id,
        "CONSUMER-ID": member.member_id,
        "GROUP-INSTANCE-ID": member.instance_id or "",
        "HOST": member.host,
        "CLIENT-ID": member.client_id,
        "#PARTITIONS": str(len(member.assignment)),
        "CURRENT-EPOCH": _number(member.epoch),
        "CURRENT-ASSIGNMENT": assignment_text(member.assignment) or _MISSING,
        "TARGET-EPOCH": _number(group.assignment_epoch),
        "TARGET-ASSIGNMENT": assignment_text(member.target or ()) or _MISSING,
        "UPGRADED": _MISSING if member.upgraded is None else str(member.upgraded).lower(),
    }


def _number(value: int | None) -> str:
    return _MISSING if value is None else str(value)


def assignment_text(partitions: Iterable[TopicPartition]) -> str:
    """`orders:0,1;payments:3`."""
    topics: dict[str, list[int]] = {}
    for topic, index in sorted(partitions):
        topics.setdefault(topic, []).append(index)
    return ";".join(sorted(f"{topic}:{','.join(map(str, p))}" for topic, p in topics.items()))


def members_as_json(group: GroupDescription) -> list[dict[str, object]]:
    return [
        {
            "consumerId": member.member_id,
            "groupInstanceId": member.instance_id,
            "host": member.host,
            "clientId": member.client_id,
            "epoch": member.epoch,
            "upgraded": member.upgraded,
            "assignment": _partitions_as_json(member.assignment),
            "targetAssignment": None
            if member.target is None
            else _partitions_as_json(member.target),
        }
        for member in group.members
    ]


def _partitions_as_json(partitions: Iterable[TopicPartition]) -> list[dict[str, object]]:
    return [{"topic": topic, "partition": index} for topic, index in sorted(partitions)]
