"""Whether a query will keep state, told from the plan that Spark prints.

Nodes of a stream are marked with `~`. Spark itself tells it only with the first batch, which is too
late to decide where a query may start.
"""

from __future__ import annotations

import re

_STATEFUL = re.compile(
    r"~(?:Aggregate|Deduplicate|DeduplicateWithinWatermark|Distinct|GlobalLimit"
    r"|FlatMapGroups\w*State\w*|MapGroupsWithState|TransformWithState\w*)\b"
)
_JOIN = re.compile(r"~Join\b")
_NODE = re.compile(r"^(?P<indent>[\s:+-]*)(?P<node>\S.*)$")


def keeps_state(plan: str) -> bool:
    """Whether a plan aggregates, deduplicates, limits or joins streams, or has state of its own."""
    lines = plan.splitlines()
    for number, line in enumerate(lines):
        node = line.lstrip(" :+-")
        if _STATEFUL.match(node):
            return True
        if _JOIN.match(node) and _streaming_children(lines, number) > 1:
            return True
    return False


def _streaming_children(lines: list[str], parent: int) -> int:
    depth = _depth(lines[parent])
    children = 0
    for line in lines[parent + 1 :]:
        if _depth(line) <= depth:
            break
        if _depth(line) == depth + 1 and line.lstrip(" :+-").startswith("~"):
            children += 1
    return children


def _depth(line: str) -> int:
    """Three characters of indentation for each level."""
    match = _NODE.match(line)
    return len(match["indent"]) // 3 if match else 0
