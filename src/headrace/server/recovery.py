"""Recovery after a hard kill, spread over helper processes where there is much to scan."""

from __future__ import annotations

import os
import pickle
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from headrace.log.recovery_tasks import RecoveryOutcome, RecoveryTask, run_recoveries
from headrace.server.helper_frames import command, read_frame, write_frame

#: Below this many bytes a helper's start would take longer than the scan itself.
_WORTH_A_PROCESS = 256 * 1024 * 1024


def recover_in_processes(tasks: Sequence[RecoveryTask]) -> list[RecoveryOutcome]:
    """The outcomes in the order of the tasks."""
    total = sum(_unflushed_bytes(task) for task in tasks)
    count = min(len(tasks), os.cpu_count() or 1)
    if count < 2 or total < _WORTH_A_PROCESS:
        return run_recoveries(tasks)
    shares = [list(tasks[start::count]) for start in range(count)]
    with ThreadPoolExecutor(count) as threads:
        results = list(threads.map(_recover_share, shares))
    outcomes = {outcome.directory: outcome for share in results for outcome in share}
    return [outcomes[task.directory] for task in tasks]


def _recover_share(tasks: list[RecoveryTask]) -> list[RecoveryOutcome]:
    with subprocess.Popen(
        command(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None  # noqa: S101 - it has pipes
        assert process.stdout is not None  # noqa: S101
        try:
            write_frame(process.stdin, ("recover", tasks))
            process.stdin.close()
            kind, value = read_frame(process.stdout)
        except (EOFError, OSError, pickle.UnpicklingError):
            return run_recoveries(tasks)
    if kind == "error":
        raise value
    outcomes: list[RecoveryOutcome] = value
    return outcomes


def _unflushed_bytes(task: RecoveryTask) -> int:
    """Roughly what has to be read: the segments at or behind the recovery point."""
    try:
        names = sorted(name for name in os.listdir(task.directory) if name.endswith(".log"))
        behind = [name for name in names if int(name[:-4]) >= task.recovery_point]
        first = len(names) - len(behind) - 1
        read = names[max(first, 0) :]
        return sum(os.path.getsize(os.path.join(task.directory, name)) for name in read)
    except (OSError, ValueError):
        return 0
