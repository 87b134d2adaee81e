"""Pipelines under the runner in the test's own process: started, ended, and what they said."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.spark.pipelines.declaration import Pipeline, declared_in, pipeline
from headrace.spark.pipelines.run_plan import RunOptions
from headrace.spark.pipelines.state_directory import StateDirectory
from tests.support.readiness import eventually

if TYPE_CHECKING:
    from headrace.spark.pipelines.pipeline_run import PipelineRun

_SECONDS = 180.0
#: What people cannot do anything with.
_NOISE = ("Traceback", "org.apache.", "java.", "py4j", "Exception:", "SQLSTATE", "\n")
_LONGEST = 400

Function = Callable[[Any], Any]


class PipelineRuns:
    """Runs pipelines with one Spark and one state directory; `told` is what a user would read."""

    def __init__(self, spark: Any, servers: str, directory: Path) -> None:
        self._spark = spark
        self._servers = servers
        self.directory = directory
        self._started: list[PipelineRun] = []
        self.told: list[str] = []

    def start(
        self,
        name: str,
        function: Function,
        *,
        state: str | None = None,
        group: str | None = None,
        **options: Any,
    ) -> PipelineRun:
        """A run of a function as a pipeline of this name."""
        (declared,) = declared_in([pipeline(name=name, group=group)(function)])
        return self.start_declared(declared, state=state, **options)

    def start_declared(
        self, declared: Pipeline, *, state: str | None = None, **options: Any
    ) -> PipelineRun:
        from headrace.spark.pipelines.pipeline_run import PipelineRun

        run = PipelineRun(
            declared,
            self._spark,
            StateDirectory(state or str(self.directory)).pipeline(declared.name),
            RunOptions(bootstrap_servers=self._servers, **options),
            lambda name, sentence: self.told.append(f"{name}: {sentence}"),
        )
        self._started.append(run)
        run.start()
        return run

    def finish(self, name: str, function: Function, **options: Any) -> None:
        """Read everything there is, and end well."""
        self.finished(self.start(name, function, once=True, **options))

    def finished(self, run: PipelineRun) -> None:
        run.join(_SECONDS)
        assert (run.status.state, run.status.last_error) == ("finished", None)

    def fail(self, name: str, function: Function, **options: Any) -> str:
        """Why it failed, which has to be something that a person can read."""
        return self.failure_of(self.start(name, function, **{"once": True, **options}))

    def failure_of(self, run: PipelineRun) -> str:
        run.join(_SECONDS)
        assert not run.is_alive, self.told
        assert run.status.state == "failed", run.status.state
        sentence = str(run.status.last_error)
        assert not [noise for noise in _NOISE if noise in sentence], sentence
        assert len(sentence) <= _LONGEST, sentence
        # What a user's own function raised is told with its line.
        assert sentence.endswith((".", ")")), sentence
        return sentence

    def wait(self, run: PipelineRun, condition: Callable[[], bool]) -> None:
        """Until something holds; a run that ends meanwhile has failed."""

        def holds() -> bool:
            return condition() or not run.is_alive

        eventually(holds, timeout=_SECONDS)
        assert condition(), (run.status.state, run.status.last_error)

    def stop(self, run: PipelineRun) -> None:
        run.stop()
        run.join(_SECONDS)
        assert run.status.state == "stopped", run.status.last_error

    def close(self) -> None:
        for run in self._started:
            run.stop(at_once=True)
        for run in self._started:
            run.join(_SECONDS)
