"""A run: the pipelines of a file in one Spark session, until they end or somebody stops them."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

from headrace.spark.errors import PipelineError
from headrace.spark.pipelines.display import Display
from headrace.spark.pipelines.lock import RunLock, holder_of
from headrace.spark.pipelines.pipeline_run import PipelineRun, now_ms
from headrace.spark.pipelines.run_plan import RunPlan
from headrace.spark.pipelines.status import FAILED
from headrace.spark.session import close_session, open_session

_LOOK_SECONDS = 0.1


def run(plan: RunPlan, display: Display) -> int:
    """Run until the end; the exit code. Raises PipelineError if it cannot begin."""
    begun = time.monotonic()
    with _locked(plan):
        display.say(_title(plan))
        spark = open_session(plan.session)
        _quiet_pyspark()
        try:
            session_ms = round((time.monotonic() - begun) * 1000)
            runs = [
                PipelineRun(p, spark, plan.state.pipeline(p.name), plan.options, display.tell)
                for p in plan.pipelines
            ]
            for each in runs:
                each.status.first_batch_parts["session"] = session_ms
            _follow(runs, display)
        finally:
            close_session(spark)
    return _report(runs, display)


def _title(plan: RunPlan) -> str:
    names = ", ".join(pipeline.name for pipeline in plan.pipelines)
    end = "until everything is read" if plan.options.once else "until Ctrl-C"
    return f"Running {names} from {os.path.basename(plan.file)} {end}; state in {plan.state.path}."


@contextmanager
def _locked(plan: RunPlan) -> Iterator[None]:
    locks: list[RunLock] = []
    try:
        for pipeline in plan.pipelines:
            lock = RunLock(plan.state.pipeline(pipeline.name).lock)
            try:
                is_ours = lock.acquire()
            except OSError as error:
                raise PipelineError(
                    f"The state directory {plan.state.path} cannot be used: {error.strerror}."
                ) from error
            if not is_ours:
                raise PipelineError(_already(pipeline.name, lock.path))
            locks.append(lock)
        yield
    finally:
        for lock in locks:
            lock.release()


def _already(name: str, path: str) -> str:
    holder = holder_of(path)
    who = f" (process {holder.pid})" if holder is not None else ""
    return (
        f"Pipeline {name} is running already{who}: `headrace pipelines status {name}` shows it,"
        f" `headrace pipelines stop {name}` stops it."
    )


def _quiet_pyspark() -> None:
    """It logs every exception with its whole Java stack before it raises it to us."""
    from pyspark.logger import PySparkLogger

    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL)


def _follow(runs: Sequence[PipelineRun], display: Display) -> None:
    """Show how it goes; Ctrl-C and SIGTERM stop all pipelines, a second one does not wait."""
    asked = 0

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        asked += 1
        for each in runs:
            each.stop(at_once=asked > 1)

    def statuses() -> list[dict[str, Any]]:
        moment = now_ms()
        return [each.status.as_json(moment) for each in runs]

    with _signals(stop):
        for each in runs:
            each.start()
        told = 0
        while any(each.is_alive for each in runs):
            if asked > told:
                told = asked
                display.say(
                    "Stopping: the running batches end first; Ctrl-C again does not wait."
                    if asked == 1
                    else "Stopping at once; the batch that runs now is replayed at the next start."
                )
            display.update(statuses())
            for each in runs:
                each.join(_LOOK_SECONDS / len(runs))
        display.finish(statuses())


@contextmanager
def _signals(stop: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Ours for as long as pipelines run; in another thread than the main one there are none."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _report(runs: Sequence[PipelineRun], display: Display) -> int:
    """The last word on each; why one failed was told when it did."""
    for each in runs:
        status, numbers = each.status, each.status.statistics
        plural = "" if numbers.batches == 1 else "es"
        text = f"{numbers.rows_in:,} rows in {numbers.batches:,} batch{plural}"
        if (lag := status.lag_total()) is not None:
            text += f", lag {lag:,}"
        if status.state == FAILED and status.batch_id is not None:
            text += f"; the next run goes on after batch {status.batch_id}"
        if status.commit_error:
            text += f"; its offsets could not be committed: {status.commit_error.rstrip('.')}"
        display.say(f"{each.pipeline.name} {status.state}: {text}.")
    return int(any(each.status.state == FAILED for each in runs))
