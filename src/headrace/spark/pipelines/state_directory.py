"""What the runner keeps of each pipeline on disk, so that the next run and other programs know it.

    ~/.headrace/pipelines/
      orders/
        pipeline.json       which generation, which group, what was committed last
        status.json         how it goes: for people, dashboards, scripts
        lock                held while it runs
        gen-0001/checkpoint Spark's own: offsets, commits, state
        gen-0001/initial-0.json  where its first source began, for a first batch that fails
      .spark/               its log, and what its workers are started with

One directory for a user, as there is one set of consumer groups for a cluster: the name of a
pipeline means the same wherever it is started from.
"""

from __future__ import annotations

import glob
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from headrace.spark.errors import PipelineError
from headrace.spark.offsets import OffsetJson

ENVIRONMENT = "HEADRACE_STATE_DIR"
#: What stands in the place of a password in a record.
HIDDEN = "(hidden)"
#: The one before is kept, for a look back; older ones go.
_GENERATIONS_KEPT = 2


@dataclass(slots=True)
class Record:
    """`pipeline.json`."""

    name: str
    group: str
    generation: int = 1
    #: Spark's directory of this generation: a path, or a URI of another file system.
    checkpoint: str = ""
    #: Where this generation began, if it did not begin where its source's options say.
    starting: OffsetJson | None = None
    #: Whether the query keeps state; None before its first batch.
    stateful: bool | None = None
    #: What was committed to the group last, and after which batch.
    committed: OffsetJson = field(default_factory=dict)
    batch: int | None = None
    #: Set by `reset --state`: the next start takes a new generation.
    drop_state: bool = False
    file: str = ""
    bootstrap_servers: str = ""
    cluster_id: str = ""
    trigger: str = ""
    #: Format and options of each source, and what the query writes to.
    sources: list[dict[str, Any]] = field(default_factory=list)
    sink: str = ""


@dataclass(frozen=True, slots=True)
class PipelineDirectory:
    """The directory of one pipeline."""

    path: str

    @property
    def name(self) -> str:
        return os.path.basename(self.path)

    @property
    def lock(self) -> str:
        return os.path.join(self.path, "lock")

    @property
    def pause(self) -> str:
        """While this file is there, the source starts no new batch."""
        return os.path.join(self.path, "pause")

    def generation(self, number: int) -> str:
        return os.path.join(self.path, f"gen-{number:04}")

    def checkpoint(self, number: int, root: str | None = None) -> str:
        """Spark's directory of a generation, below another root if one is given."""
        if root is None:
            return os.path.join(self.generation(number), "checkpoint")
        return f"{root.rstrip('/')}/{self.name}/gen-{number:04}/checkpoint"

    def initial_offsets(self, number: int) -> str:
        """What the files begin with in which the sources of a generation keep where they began."""
        return os.path.join(self.generation(number), "initial-")

    # ---------------------------------------------------------------- its files

    def read_record(self) -> Record | None:
        loaded = _read(os.path.join(self.path, "pipeline.json"))
        if loaded is None:
            return None
        known = {entry.name for entry in fields(Record)}
        try:
            return Record(**{name: value for name, value in loaded.items() if name in known})
        except TypeError:
            raise PipelineError(_damaged(os.path.join(self.path, "pipeline.json"))) from None

    def write_record(self, record: Record) -> None:
        _replace(os.path.join(self.path, "pipeline.json"), asdict(record))

    def read_status(self) -> dict[str, Any] | None:
        return _read(os.path.join(self.path, "status.json"))

    def write_status(self, status: Mapping[str, Any]) -> None:
        _replace(os.path.join(self.path, "status.json"), status)

    def forget_initial_offsets(self, number: int) -> None:
        """Of a run that ended before the generation was written down."""
        for path in glob.glob(f"{glob.escape(self.initial_offsets(number))}*.json"):
            os.unlink(path)

    def remove_old_generations(self, current: int) -> None:
        for number in range(1, current - _GENERATIONS_KEPT + 1):
            shutil.rmtree(self.generation(number), ignore_errors=True)


@dataclass(frozen=True, slots=True)
class StateDirectory:
    """The directories of all pipelines."""

    path: str

    @classmethod
    def find(cls, given: str | None = None) -> StateDirectory:
        """The one that is named, that of the environment, or the user's."""
        chosen = given or os.environ.get(ENVIRONMENT)
        home = os.path.join(os.path.expanduser("~"), ".headrace", "pipelines")
        return cls(os.path.abspath(os.path.expanduser(chosen)) if chosen else home)

    def pipeline(self, name: str) -> PipelineDirectory:
        return PipelineDirectory(os.path.join(self.path, name))

    def existing(self, name: str) -> PipelineDirectory:
        """The directory of a pipeline that has run; raises PipelineError."""
        found = self.pipeline(name)
        if name and os.path.isfile(os.path.join(found.path, "pipeline.json")):
            return found
        known = self.names()
        there = f"has {', '.join(known)}" if known else "has none yet"
        raise PipelineError(f"No pipeline {name} has run here; {self.path} {there}.")

    def names(self) -> list[str]:
        try:
            found = sorted(os.listdir(self.path))
        except (FileNotFoundError, NotADirectoryError):
            return []
        return [n for n in found if os.path.isfile(os.path.join(self.path, n, "pipeline.json"))]


def _read(path: str) -> dict[str, Any] | None:
    try:
        with open(path, encoding="utf-8") as file:
            loaded = json.load(file)
    except FileNotFoundError:
        return None
    except ValueError:
        raise PipelineError(_damaged(path)) from None
    if not isinstance(loaded, dict):
        raise PipelineError(_damaged(path))
    return loaded


def _damaged(path: str) -> str:
    if os.path.basename(path) == "status.json":
        return f"{path} is damaged: remove it, and the next run writes it anew."
    return (
        f"{path} is damaged: put it back from a copy, or remove its directory to begin anew where"
        " the pipeline's group stands."
    )


def _replace(path: str, value: Mapping[str, Any]) -> None:
    """Readers see the old file or the new one, never half of one."""
    directory = os.path.dirname(path)
    os.makedirs(directory, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=directory, prefix=".new-")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(value, file, indent=1)
            file.write("\n")
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
