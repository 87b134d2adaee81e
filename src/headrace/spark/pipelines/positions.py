"""Where a pipeline starts: at its checkpoint, or where somebody moved its group to.

In Spark the checkpoint always wins over a group's offsets. So a group that was moved while the
pipeline stood still means a new checkpoint, a new generation, that begins there. State belongs to
the place where it was built, so a pipeline that keeps state is not moved behind its back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headrace.client.groups_offsets import CommittedOffset
from headrace.client.leaders import TopicPartition
from headrace.spark.errors import PipelineError
from headrace.spark.offsets import OffsetJson, from_json, to_json
from headrace.spark.pipelines.context import committed_batch
from headrace.spark.pipelines.state_directory import Record

_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Start:
    """Which generation runs, and where it begins if its checkpoint is new."""

    generation: int
    starting: OffsetJson | None = None
    #: What to tell the user; empty if the pipeline just goes on.
    why: str = ""


@dataclass(frozen=True, slots=True)
class Known:
    """What is known before a start."""

    name: str
    group: str
    #: None if the pipeline never ran with this state directory.
    record: Record | None
    #: Where the checkpoint stands; None if it has no finished batch.
    position: OffsetJson | None
    #: What the group has committed for the topics that the pipeline reads.
    committed: Mapping[TopicPartition, CommittedOffset]
    is_stateful: bool
    #: Whether the checkpoint is on a file system that outlives this machine.
    is_remote: bool = False


def decide(known: Known) -> Start:
    """Where to start; raises PipelineError if that is for the user to say."""
    _check_owner(known)
    if known.record is None:
        return _first(known)
    if known.record.drop_state:
        return _anew(known, known.record)
    return _again(known, known.record)


def _check_owner(known: Known) -> None:
    """Two pipelines with one group would each take the other's offsets for a move of its own."""
    marks = (committed_batch(found.metadata) for found in known.committed.values())
    others = sorted({mark.name for mark in marks if mark is not None} - {known.name})
    if not others:
        return
    if known.record is None:
        way_out = (
            f"`headrace consumer-groups --reset-offsets --group {known.group} --all-topics"
            f" --to-current --execute` leaves the group to {known.name}"
        )
    else:
        way_out = f"`headrace pipelines reset {known.name} --to-checkpoint` takes the group back"
    raise PipelineError(
        f"The group {known.group} is that of pipeline {', '.join(others)}, which has committed its"
        f" offsets: give pipeline {known.name} another, with @pipeline(group=...). If {others[0]}"
        f" is not run any more, {way_out}."
    )


def _first(known: Known) -> Start:
    """A pipeline without a past here is a consumer that joins its group."""
    if not known.committed:
        return Start(1)
    there = to_json({tp: found.offset for tp, found in known.committed.items()})
    batches = [committed_batch(found.metadata) for found in known.committed.values()]
    generation = max((batch.generation for batch in batches if batch is not None), default=0)
    if generation and known.is_remote:
        return Start(generation)
    if generation and known.is_stateful:
        raise PipelineError(
            f"Pipeline {known.name} has run before (its group {known.group} has its offsets), but"
            " its state is not in this state directory: name the right one with --state-dir, or"
            f" delete the group's offsets (headrace consumer-groups --delete --group {known.group})"
            " to begin anew."
        )
    return Start(generation + 1, there, f"starts where its group {known.group} stands")


def _anew(known: Known, record: Record) -> Start:
    there = {tp: found.offset for tp, found in known.committed.items()}
    offsets = from_json(known.position or record.committed) | there
    why = "starts without state" + (f" where its group {known.group} stands" if offsets else "")
    return Start(record.generation + 1, to_json(offsets) or None, why)


def _again(known: Known, record: Record) -> Start:
    position = from_json(record.committed if known.position is None else known.position)
    moved = {
        tp: found.offset
        for tp, found in known.committed.items()
        if committed_batch(found.metadata) is None and found.offset != position.get(tp)
    }
    if not moved:
        return Start(record.generation, record.starting)
    what = _moves(moved, position)
    if known.is_stateful and known.position is not None:
        raise PipelineError(
            f"The group {known.group} was moved ({what}) while pipeline {known.name} stood still,"
            " but its state was built from what came before: `headrace pipelines reset"
            f" {known.name} --state` drops the state and starts there, `headrace pipelines reset"
            f" {known.name} --to-checkpoint` puts the group back."
        )
    starting = to_json(position | moved)
    return Start(record.generation + 1, starting, f"its group {known.group} was moved: {what}")


def _moves(moved: Mapping[TopicPartition, int], position: Mapping[TopicPartition, int]) -> str:
    parts = []
    for (topic, partition), offset in sorted(moved.items())[:_SHOWN]:
        before = position.get((topic, partition))
        parts.append(f"{topic}-{partition} {'new' if before is None else before} → {offset}")
    more = len(moved) - _SHOWN
    return ", ".join(parts) + (f" and {more} more" if more > 0 else "")
