"""Formats data directories: gives them to a node of a cluster, with the cluster's first records.

`headrace storage format` and the zero-configuration starts use it. What it leaves is what Apache
Kafka's own storage tool leaves: `meta.properties` and `bootstrap.checkpoint` in every directory,
and the voters in a first snapshot where the quorum is dynamic (KIP-853).
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from headrace.base.durability import sync_descriptor, sync_directory
from headrace.base.uuids import random_uuid
from headrace.log.meta_properties import MetaProperties, read_meta_properties, write_meta_properties
from headrace.metadata import bootstrap, features, snapshot
from headrace.metadata.record_codec import AnyRecord
from headrace.raft.voters import VoterSet

_METADATA_LOG = "__cluster_metadata-0"


class FormatError(Exception):
    """The directories cannot be formatted as asked, in one sentence."""


@dataclass(frozen=True, slots=True)
class FormatPlan:
    """What to format. `voters` are those of a dynamic quorum, None for a static one."""

    cluster_id: str
    node_id: int
    directories: Sequence[str]
    metadata_directory: str
    metadata_version: int = features.LATEST_METADATA_VERSION
    #: Levels that differ from the defaults of that metadata.version.
    levels: Mapping[str, int] = field(default_factory=dict)
    voters: VoterSet | None = None
    #: A node without voters of its own that will join a dynamic quorum.
    joins_dynamic_quorum: bool = False
    #: Further first records of the cluster: SCRAM credentials.
    records: Sequence[AnyRecord] = ()
    ignore_formatted: bool = False

    @property
    def is_dynamic(self) -> bool:
        return self.voters is not None or self.joins_dynamic_quorum


def first_records(plan: FormatPlan) -> list[AnyRecord]:
    """The records that the cluster begins with."""
    return [*bootstrap.feature_records(effective_levels(plan)), *plan.records]


def effective_levels(plan: FormatPlan) -> dict[str, int]:
    """The level of each feature, checked; kraft.version is not among them (it is Raft's own)."""
    kraft = plan.levels.get(features.KRAFT_VERSION)
    if kraft is not None and bool(kraft) != plan.is_dynamic:
        only_if = "unless" if kraft else "if"
        raise FormatError(
            f"Cannot set kraft.version to {kraft} {only_if} one of the flags --standalone,"
            " --initial-controllers, or --no-initial-controllers is used."
        )
    levels = features.default_levels(plan.metadata_version)
    for name, level in plan.levels.items():
        supported = features.SUPPORTED.get(name)
        if supported is None:
            known = ", ".join(sorted(features.FEATURES))
            raise FormatError(f"Unsupported feature: {name}. Supported features are: {known}")
        if not supported[0] <= level <= supported[1]:
            raise FormatError(f"No feature:{name} with feature level {level}")
        if name not in (features.KRAFT_VERSION, features.METADATA_VERSION):
            levels[name] = level
    problem = features.missing_dependency(levels)
    if problem is not None:
        raise FormatError(problem)
    return levels


def format_storage(
    plan: FormatPlan, *, now_ms: int, written: str, say: Callable[[str], None]
) -> None:
    """Format all directories of the plan that are not formatted yet.

    `written` is the date line of meta.properties; `say` is told each step, in Kafka's words.
    """
    if plan.node_id < 0:
        raise FormatError("You must specify a valid non-negative node ID.")
    if plan.metadata_directory not in plan.directories:
        raise FormatError(
            f"The specified metadata log directory, {plan.metadata_directory}"
            f" was not one of the given directories: {list(plan.directories)}"
        )
    records = first_records(plan)
    fresh = unformatted(plan)
    if not fresh:
        say("All of the log directories are already formatted.")
        return
    checkpoint = bootstrap.encode_bootstrap(records, now_ms)
    for directory in fresh:
        say(
            f"Formatting {_kind(plan, directory)} {directory} with metadata.version"
            f" {features.metadata_version_name(plan.metadata_version)}."
        )
        _write_directory(plan, directory, checkpoint, now_ms=now_ms, written=written)


def unformatted(plan: FormatPlan) -> list[str]:
    """The directories to format; `FormatError` if one of the others stands in the way."""
    fresh = []
    for directory in plan.directories:
        found = read_meta_properties(directory)
        if found is None:
            fresh.append(directory)
            continue
        where = os.path.join(directory, "meta.properties")
        if found.cluster_id != plan.cluster_id:
            raise FormatError(
                f"Invalid cluster.id in: {where}."
                f" Expected {plan.cluster_id}, but read {found.cluster_id}"
            )
        if found.node_id != plan.node_id:
            raise FormatError(
                f"Stored node id {found.node_id} doesn't match previous node id {plan.node_id}"
                f" in {where}."
            )
        if not plan.ignore_formatted:
            raise FormatError(
                f"Log directory {directory} is already formatted. Use --ignore-formatted"
                " to ignore this directory and format the others."
            )
    return fresh


def _kind(plan: FormatPlan, directory: str) -> str:
    if directory != plan.metadata_directory:
        return "data directory"
    if plan.voters is None:
        return "metadata directory"
    if plan.node_id in plan.voters.ids:
        return "dynamic metadata voter directory"
    return "dynamic metadata directory"


def _write_directory(
    plan: FormatPlan, directory: str, checkpoint: bytes, *, now_ms: int, written: str
) -> None:
    """meta.properties comes last: a directory is formatted when all the rest is there."""
    os.makedirs(directory, exist_ok=True)
    _write(os.path.join(directory, bootstrap.FILE_NAME), checkpoint)
    directory_id = random_uuid()
    if directory == plan.metadata_directory and plan.voters is not None:
        for voter in plan.voters:
            if voter.voter_id == plan.node_id:
                directory_id = voter.directory_id
        _write_voters(plan.voters, directory, now_ms)
    properties = MetaProperties(plan.cluster_id, plan.node_id, directory_id)
    write_meta_properties(directory, properties, written)


def _write_voters(voters: VoterSet, directory: str, now_ms: int) -> None:
    metadata_log = os.path.join(directory, _METADATA_LOG)
    os.makedirs(metadata_log, exist_ok=True)
    batches = snapshot.snapshot_batches(
        iter(()),
        epoch=0,
        metadata_version=features.LATEST_METADATA_VERSION,
        last_contained_timestamp_ms=now_ms,
        now_ms=now_ms,
        quorum=snapshot.QuorumRecords(1, voters),
    )
    name = snapshot.SnapshotId(0, 0).file_name
    _write(os.path.join(metadata_log, name), b"".join(batches))


def _write(path: str, data: bytes) -> None:
    with open(path, "wb") as file:
        file.write(data)
        file.flush()
        sync_descriptor(file.fileno())
    sync_directory(os.path.dirname(path))
