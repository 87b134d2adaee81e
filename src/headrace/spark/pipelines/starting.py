"""Before a query starts: where does its checkpoint stand, where its group, and which one counts?"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headrace.spark.errors import PipelineError
from headrace.spark.offsets import OffsetJson, from_json
from headrace.spark.pipelines.building import Built, build
from headrace.spark.pipelines.checkpoint_files import (
    is_stateful,
    kafka_offsets,
    last_finished,
    local_path,
)
from headrace.spark.pipelines.context import Running
from headrace.spark.pipelines.declaration import Pipeline
from headrace.spark.pipelines.group_offsets import GroupAt, Place
from headrace.spark.pipelines.next_generation import check_output, continue_numbers
from headrace.spark.pipelines.positions import Known, Start, decide
from headrace.spark.pipelines.reading import Completion, Read
from headrace.spark.pipelines.run_plan import RunOptions
from headrace.spark.pipelines.start_checks import check_checkpoint, check_cluster
from headrace.spark.pipelines.state_directory import PipelineDirectory, Record


@dataclass(slots=True)
class Prepared:
    """A pipeline that can be started."""

    running: Running
    record: Record
    built: Built
    groups: list[GroupAt]
    #: Where its checkpoint stands, and after which batch.
    position: OffsetJson | None
    batch: int | None
    #: Whether the group stands before the checkpoint.
    is_behind: bool = False
    #: What the user should know of where it starts.
    why: str = ""


def prepare(
    pipeline: Pipeline, spark: Any, directory: PipelineDirectory, options: RunOptions
) -> Prepared:
    """Build the pipeline and decide where it starts; raises PipelineError."""
    record = directory.read_record()
    if record is not None and record.group != pipeline.group:
        # Another group is another place in the topics, and nothing of the old one holds for it.
        raise PipelineError(
            f"Pipeline {pipeline.name} has run as group {record.group} and is declared with group"
            f" {pipeline.group} now: give it another name, or remove {directory.path}."
        )
    running = _running(pipeline, directory, options, 1 if record is None else record.generation)
    completion = Completion(
        options.bootstrap_servers,
        directory.pause,
        directory.initial_offsets(running.generation),
        starting=None if record is None or record.drop_state else record.starting,
    )
    built = build(pipeline, spark, running, completion)
    groups = [GroupAt(pipeline.group, place) for place in places(built.reads)]
    try:
        start = _decide(pipeline, record, running, built, groups, options)
        starting = start.starting
        if record is None or start.generation != record.generation:
            starting = _complete(groups, start.starting)
        if starting != completion.starting or start.generation != running.generation:
            running = _running(pipeline, directory, options, start.generation)
            completion.starting = starting
            completion.initial_offsets = directory.initial_offsets(running.generation)
            built = build(pipeline, spark, running, completion)
        if record is not None and start.generation != record.generation:
            directory.forget_initial_offsets(running.generation)
            _begin(record, running, built, starting)
    except BaseException:
        for group in groups:
            group.close()
        raise
    running.starting = starting
    finished = last_finished(running.checkpoint)
    position = None if finished is None else kafka_offsets(finished.sources)
    record = _record(pipeline, record, running, built, groups, starting)
    directory.write_record(record)
    directory.remove_old_generations(running.generation)
    return Prepared(
        running=running,
        record=record,
        built=built,
        groups=groups,
        position=position,
        batch=None if finished is None else finished.batch_id,
        is_behind=_is_behind(position, groups),
        why=start.why,
    )


def places(reads: Sequence[Read]) -> list[Place]:
    """The clusters that are read, each once."""
    by_servers: dict[str, Place] = {}
    for read in reads:
        if not read.is_kafka:
            continue
        known = by_servers.get(read.bootstrap_servers)
        before = () if known is None else known.subscriptions
        settings = read.kafka if known is None else known.settings
        by_servers[read.bootstrap_servers] = Place(settings, (*before, read.subscription()))
    return list(by_servers.values())


def _running(
    pipeline: Pipeline, directory: PipelineDirectory, options: RunOptions, generation: int
) -> Running:
    return Running(
        pipeline.name,
        pipeline.group,
        directory.checkpoint(generation, options.checkpoint_root),
        generation,
        options.bootstrap_servers,
        options.schema_registry_url,
    )


def _decide(
    pipeline: Pipeline,
    record: Record | None,
    running: Running,
    built: Built,
    groups: Sequence[GroupAt],
    options: RunOptions,
) -> Start:
    cluster_id = ",".join(group.cluster_id() for group in groups)
    if record is not None and not record.drop_state:
        check_cluster(record, cluster_id, groups)
        check_checkpoint(record, running, built)
    finished = last_finished(running.checkpoint)
    seen = is_stateful(running.checkpoint)
    committed = {tp: at for group in groups for tp, at in group.committed().items()}
    return decide(
        Known(
            name=pipeline.name,
            group=pipeline.group,
            record=record,
            position=None if finished is None else kafka_offsets(finished.sources),
            committed=committed,
            is_stateful=built.keeps_state or bool(seen),
            is_remote=local_path(running.checkpoint) is None,
        )
    )


def _begin(record: Record, running: Running, built: Built, starting: OffsetJson | None) -> None:
    """The checkpoint of a generation that follows another one."""
    if path := local_path(running.checkpoint):
        # What a run left that ended before this generation was written down.
        shutil.rmtree(path, ignore_errors=True)
    if not built.keeps_state and starting is not None:
        sources = len(built.reads)
        if continue_numbers(record.checkpoint, running.checkpoint, starting, sources):
            return
    check_output(record.name, record.sink)


def _is_behind(position: OffsetJson | None, groups: Sequence[GroupAt]) -> bool:
    """A run that was killed may have finished a batch without telling the group."""
    stands = {tp: at.offset for group in groups for tp, at in group.committed().items()}
    return any(stands.get(tp, -1) < offset for tp, offset in from_json(position or {}).items())


def _complete(groups: Sequence[GroupAt], starting: OffsetJson | None) -> OffsetJson | None:
    if not starting:
        return None
    complete: OffsetJson = {}
    for group in groups:
        complete |= group.complete(starting)
    return complete


def _record(
    pipeline: Pipeline,
    record: Record | None,
    running: Running,
    built: Built,
    groups: Sequence[GroupAt],
    starting: OffsetJson | None,
) -> Record:
    is_same = record is not None and record.generation == running.generation
    return Record(
        name=pipeline.name,
        group=pipeline.group,
        generation=running.generation,
        checkpoint=running.checkpoint,
        starting=starting,
        stateful=built.keeps_state,
        committed=record.committed if record is not None and is_same else {},
        batch=record.batch if record is not None and is_same else None,
        file=os.path.abspath(pipeline.file),
        bootstrap_servers=",".join(g.place.settings.get("bootstrap.servers", "") for g in groups),
        cluster_id=",".join(group.cluster_id() for group in groups),
        trigger=pipeline.trigger,
        sources=[read.described() for read in built.reads],
        sink=running.output or ("" if record is None else record.sink),
    )
