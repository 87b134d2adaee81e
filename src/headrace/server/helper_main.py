"""The helper process: reads jobs from its input, writes their results to its output."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from threading import Thread
from typing import IO, Any

from headrace.server.helper_frames import read_frame, write_frame

#: How often to look whether the node still lives.
_LOOK_S = 0.2


def _clean(job: Any) -> Any:
    from headrace.log.cleaner.run import run
    from headrace.log.cleaner.throttle import throttle_for

    throttle = throttle_for(
        job.bytes_per_second_max,
        lambda: time.monotonic() * 1000.0,
        lambda pause_ms: time.sleep(pause_ms / 1000.0),
    )
    return run(job, throttle)


def _prepare(job: Any) -> Any:
    from headrace.broker.preparation import prepare

    return prepare(job)


def _open(batch: Any) -> Any:
    from headrace.log.time_lookup import open_candidate

    return open_candidate(batch)


def _recover(tasks: Any) -> Any:
    from headrace.log.recovery_tasks import run_recoveries

    return run_recoveries(tasks)


#: Everything that a helper can be asked for.
JOBS: dict[str, Callable[[Any], Any]] = {
    "clean": _clean,
    "open": _open,
    "prepare": _prepare,
    "recover": _recover,
}


def serve(source: IO[bytes], sink: IO[bytes]) -> None:
    """Answer until the input ends."""
    while True:
        try:
            name, argument = read_frame(source)
        except EOFError:
            return
        try:
            answer: tuple[str, Any] = ("result", JOBS[name](argument))
        except Exception as error:  # noqa: BLE001 - told to the node, which decides
            answer = ("error", error)
        write_frame(sink, answer)


def leave_with(parent: int) -> None:
    """End in the middle of a job if the node is gone: its successor owns the directories now."""
    while os.getppid() == parent:
        time.sleep(_LOOK_S)
    os._exit(1)


def main() -> None:
    os.nice(5)
    Thread(target=leave_with, args=(int(sys.argv[1]),), daemon=True).start()
    try:
        serve(sys.stdin.buffer, sys.stdout.buffer)
    except BrokenPipeError:
        os._exit(1)  # nobody is left to tell


if __name__ == "__main__":
    main()
