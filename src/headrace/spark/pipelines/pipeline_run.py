"""One pipeline of a run, on its own thread: starts its query, follows it, commits, tries again."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import Any

from headrace.base.errors import KafkaError
from headrace.spark.errors import PipelineError
from headrace.spark.pipelines import context
from headrace.spark.pipelines.committing import Commits
from headrace.spark.pipelines.declaration import Pipeline
from headrace.spark.pipelines.failures import Failure, explain, may_pass
from headrace.spark.pipelines.query import Query
from headrace.spark.pipelines.retrying import Retries
from headrace.spark.pipelines.run_plan import RunOptions
from headrace.spark.pipelines.starting import Prepared, prepare
from headrace.spark.pipelines.state_directory import PipelineDirectory
from headrace.spark.pipelines.statistics import Statistics
from headrace.spark.pipelines.status import (
    FAILED,
    FINISHED,
    RETRYING,
    RUNNING,
    STARTING,
    STOPPED,
    STOPPING,
    RunStatus,
)
from headrace.spark.session import use_in_this_thread

_LOOK_SECONDS = 0.1
_STATUS_SECONDS = 1.0

Tell = Callable[[str, str], None]


class PipelineRun:
    """`tell(name, sentence)` is called for what the user should read."""

    def __init__(
        self,
        pipeline: Pipeline,
        spark: Any,
        directory: PipelineDirectory,
        options: RunOptions,
        tell: Tell,
    ) -> None:
        self.pipeline = pipeline
        self._spark = spark
        self._directory = directory
        self._options = options
        self._tell = tell
        self._stop = threading.Event()
        self._hurry = threading.Event()
        self._retries = Retries(options.retry_seconds)
        self._has_started = False
        self.status = RunStatus(pipeline.name, pipeline.group, Statistics(now_ms()))
        self.status.master = str(spark.sparkContext.master)
        self._thread = threading.Thread(target=self._run, name=f"pipeline-{pipeline.name}")

    # ---------------------------------------------------------------- from other threads

    def start(self) -> None:
        self._thread.start()

    def stop(self, *, at_once: bool = False) -> None:
        """Let the running batch end and stop; `at_once` does not wait for it."""
        self._stop.set()
        if at_once:
            self._hurry.set()

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def join(self, seconds: float) -> None:
        self._thread.join(seconds)

    # ---------------------------------------------------------------- the thread

    def _run(self) -> None:
        try:
            use_in_this_thread(self._spark)
            while (pause := self._attempt()) is not None:
                self._wait(pause)
                if self._stop.is_set():
                    self.status.state = STOPPED
                    break
        except Exception as error:  # noqa: BLE001 - the thread's edge: the run must end in a state
            self._fail(_unexpected(error))
        finally:
            self._write_status()

    def _attempt(self) -> float | None:
        """Run the query once; seconds to the next attempt, None if there is none."""
        try:
            failure = self._run_query()
        except PipelineError as error:
            sentence = str(error).removeprefix(f"Pipeline {self.pipeline.name}: ")
            # A registry that is away while the query is made again, for instance.
            failure = Failure(sentence, passes=self._has_started and may_pass(sentence))
        except KafkaError as error:
            # At the first start an address that nobody answers at is a mistake more often.
            failure = Failure(str(error), passes=self._has_started)
        except OSError as error:
            failure = explain(str(error), self.pipeline.name)
        if failure is None:
            self.status.state = STOPPED if self._stop.is_set() else FINISHED
            return None
        self.status.last_error, self.status.last_error_ms = failure.sentence, now_ms()
        may_wait = failure.passes and not self._stop.is_set()
        pause = self._retries.failed(time.monotonic()) if may_wait else None
        if pause is None:
            self._fail(failure)
        return pause

    def _run_query(self) -> Failure | None:
        self.status.state = RETRYING if self._retries.is_failing else STARTING
        begun = time.monotonic()
        prepared = prepare(self.pipeline, self._spark, self._directory, self._options)
        self.status.generation = prepared.running.generation
        self.status.checkpoint = prepared.running.checkpoint
        self.status.batch_id = prepared.batch
        self.status.statistics.offsets = prepared.position or {}
        if prepared.why:
            self._tell(self.pipeline.name, prepared.why)
        commits = Commits(prepared, self._directory, self.status)
        context.register(prepared.running)
        try:
            self.status.first_batch_parts.setdefault("build", _since(begun))
            query = self._start_query(prepared)
            if isinstance(query, Failure):
                return query
            self._follow(query, commits)
            return self._outcome(query)
        finally:
            context.forget(prepared.running)
            commits.close()

    def _start_query(self, prepared: Prepared) -> Query | Failure:
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        pipeline = self.pipeline
        if os.path.exists(self._directory.pause):
            # Of a run that was killed while it stopped.
            os.unlink(self._directory.pause)
        writer = prepared.built.writer.queryName(pipeline.name)
        writer = writer.option("checkpointLocation", prepared.running.checkpoint)
        for name, value in pipeline.options.items():
            writer = writer.option(name, value)
        if pipeline.output_mode is not None:
            writer = writer.outputMode(pipeline.output_mode)
        if self._options.once:
            writer = writer.trigger(availableNow=True)
        else:
            writer = writer.trigger(processingTime=pipeline.trigger)
        begun = time.monotonic()
        try:
            query = Query(writer.start(), self._directory.pause)
        except (PySparkException, Py4JError) as error:
            return explain(str(error), pipeline.name)
        self._has_started = True
        self.status.first_batch_parts.setdefault("start", _since(begun))
        self.status.state = RUNNING
        return query

    def _follow(self, query: Query, commits: Commits) -> None:
        """Until the query has ended, by itself or because we stopped it."""
        written = 0.0
        while True:
            is_over = not query.is_active
            for progress in query.new_progress():
                self._take(progress)
            commits.work(is_last=is_over)
            if time.monotonic() - written >= _STATUS_SECONDS or is_over:
                written = time.monotonic()
                self._write_status()
            if is_over:
                return
            if self._stop.is_set():
                self.status.state = STOPPING
                self._write_status()
                query.stop(self._options.stop_seconds, self._hurry.is_set)
            else:
                self._stop.wait(_LOOK_SECONDS)

    def _take(self, progress: dict[str, Any]) -> None:
        with self.status.lock:
            batch = self.status.statistics.add(progress)
        self.status.batch_id = batch.batch_id
        self.status.first_batch_parts.setdefault("batch", batch.duration_ms)
        if self._retries.is_failing:
            self._tell(self.pipeline.name, f"goes on with batch {batch.batch_id}")
            self._retries.worked()

    def _outcome(self, query: Query) -> Failure | None:
        text = query.exception_text()
        if text is None or query.was_stopped:
            return None
        return explain(text, self.pipeline.name)

    # ---------------------------------------------------------------- failing

    def _wait(self, seconds: float) -> None:
        self.status.state = RETRYING
        self.status.restarts += 1
        self._write_status()
        self._tell(self.pipeline.name, f"{self.status.last_error} Trying again in {seconds:.0f} s.")
        self._stop.wait(seconds)

    def _fail(self, failure: Failure) -> None:
        self.status.last_error, self.status.last_error_ms = failure.sentence, now_ms()
        self.status.state = FAILED
        self._tell(self.pipeline.name, f"failed: {failure.sentence}")

    def _write_status(self) -> None:
        try:
            self._directory.write_status(self.status.as_json(now_ms()))
        except OSError as error:
            self.status.commit_error = f"{error.filename}: {error.strerror}"


def _unexpected(error: Exception) -> Failure:
    if type(error).__name__ in ("Py4JNetworkError", "ConnectionRefusedError"):
        return Failure("Spark's Java process has ended; its log says why.")
    return Failure(f"Unexpected {type(error).__name__}: {error}")


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def _since(begun: float) -> int:
    return round((time.monotonic() - begun) * 1000)
