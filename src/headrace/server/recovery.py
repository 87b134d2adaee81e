"""Recovery after a hard kill, spread over helper processes where there is much to scan."""

from __future__ import annotations

import os
import pickle
import subprocess
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from headrace.client.readable import is_readable
from headrace.log.recovery_tasks import RecoveryOutcome, RecoveryTask, run_recovery
from headrace.server.helper_frames import command, read_frame, write_frame

#: Below this many bytes a helper's start would take longer than the scan itself.
_WORTH_A_PROCESS = 256 * 1024 * 1024
#: How often to look whether anybody still waits for a helper.
_LOOK_S = 0.2


class StartStoppedError(Exception):
    """Somebody asked a node to stop before its logs were loaded."""


def recover_in_processes(
    tasks: Sequence[RecoveryTask], go_on: Callable[[], None] = lambda: None
) -> list[RecoveryOutcome]:
    """The outcomes in the order of the tasks.

    `go_on` is called again and again, and raises if nobody wants them any more. Helpers end then
    in the middle of a scan, as at a hard kill; whoever recovers next begins anew.
    """
    if sum(_unflushed_bytes(task) for task in tasks) < _WORTH_A_PROCESS:
        return _recover_here(tasks, go_on)
    # One log that is large goes to a helper as well: nobody could stop it here.
    count = min(len(tasks), os.cpu_count() or 1)
    shares = [list(tasks[start::count]) for start in range(count)]
    with ThreadPoolExecutor(count) as threads:
        results = list(threads.map(partial(_recover_share, go_on=go_on), shares))
    outcomes = {outcome.directory: outcome for share in results for outcome in share}
    return [outcomes[task.directory] for task in tasks]


def _recover_here(
    tasks: Sequence[RecoveryTask], go_on: Callable[[], None]
) -> list[RecoveryOutcome]:
    outcomes = []
    for task in tasks:
        go_on()
        outcomes.append(run_recovery(task))
    return outcomes


def _recover_share(tasks: list[RecoveryTask], go_on: Callable[[], None]) -> list[RecoveryOutcome]:
    with subprocess.Popen(
        command(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,  # Ctrl-C is for the node, which decides
    ) as process:
        assert process.stdin is not None  # noqa: S101 - it has pipes
        assert process.stdout is not None  # noqa: S101
        try:
            write_frame(process.stdin, ("recover", tasks))
            process.stdin.close()
            while not is_readable(process.stdout.fileno(), _LOOK_S):
                go_on()
            kind, value = read_frame(process.stdout)
        except (EOFError, OSError, pickle.UnpicklingError):
            return _recover_here(tasks, go_on)
        except BaseException:
            process.kill()
            raise
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
