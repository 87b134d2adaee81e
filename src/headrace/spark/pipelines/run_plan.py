"""What a run is asked to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from headrace.spark.pipelines.declaration import Pipeline
from headrace.spark.pipelines.state_directory import StateDirectory
from headrace.spark.session import SessionConfig


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What the command line says for all pipelines of a run."""

    bootstrap_servers: str = ""
    schema_registry_url: str = ""
    #: Where checkpoints go, if not into the state directory.
    checkpoint_root: str | None = None
    once: bool = False
    #: How long a pipeline that keeps failing is started again.
    retry_seconds: float = 300.0
    #: How long a running batch may take to end when the run is stopped.
    stop_seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class RunPlan:
    """What is run, and how."""

    file: str
    pipelines: Sequence[Pipeline]
    state: StateDirectory
    session: SessionConfig
    options: RunOptions = field(default_factory=RunOptions)
