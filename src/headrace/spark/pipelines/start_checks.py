"""Whether what a pipeline remembers still holds: its cluster, its checkpoint, its kind."""

from __future__ import annotations

import os
from collections.abc import Sequence

from headrace.spark.errors import PipelineError
from headrace.spark.pipelines.building import Built
from headrace.spark.pipelines.checkpoint_files import is_stateful, local_path
from headrace.spark.pipelines.context import Running
from headrace.spark.pipelines.failures import changed
from headrace.spark.pipelines.group_offsets import GroupAt
from headrace.spark.pipelines.state_directory import Record


def check_cluster(record: Record, cluster_id: str, groups: Sequence[GroupAt]) -> None:
    if cluster_id and record.cluster_id and cluster_id != record.cluster_id:
        servers = groups[0].place.settings.get("bootstrap.servers", "")
        raise PipelineError(
            f"Pipeline {record.name} has read cluster {record.cluster_id} so far, and {servers} is"
            f" cluster {cluster_id}: `headrace pipelines reset {record.name} --state` starts it"
            " anew there, another --state-dir keeps the two apart."
        )


def check_checkpoint(record: Record, running: Running, built: Built) -> None:
    """A checkpoint that somebody removed would mean to read from the start without a word."""
    path = local_path(record.checkpoint)
    if path and record.batch is not None and not os.path.isdir(path):
        raise PipelineError(
            f"The checkpoint of pipeline {record.name} is gone ({path}): put it back, or start from"
            f" where its group stands with `headrace pipelines reset {record.name} --state`."
        )
    if record.checkpoint and record.checkpoint != running.checkpoint:
        raise PipelineError(
            f"Pipeline {record.name} has its checkpoint in {record.checkpoint}: use the same"
            f" --checkpoint-dir as before, or move it with `headrace pipelines reset {record.name}"
            " --state`."
        )
    if built.keeps_state and is_stateful(running.checkpoint) is False:
        raise PipelineError(changed(record.name, "it keeps state and kept none").sentence)
