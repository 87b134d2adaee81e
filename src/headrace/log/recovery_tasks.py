"""Recovery of partitions after a hard kill as plain data, so that helper processes can share it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from headrace.base.errors import KafkaError
from headrace.log.config import LogConfig
from headrace.log.recovery import recover_directory


@dataclass(frozen=True, slots=True)
class RecoveryTask:
    """One partition's directory that was not closed cleanly."""

    directory: str
    config: LogConfig
    recovery_point: int
    log_start_offset: int
    now_ms: int
    producer_expiration_ms: int


@dataclass(frozen=True, slots=True)
class RecoveryOutcome:
    """What came of a task; `problem` is one sentence if it failed, `errno` if the disk did."""

    directory: str
    scanned_bytes: int = 0
    truncated_bytes: int = 0
    problem: str | None = None
    errno: int | None = None


#: Runs tasks, wherever it likes, and returns their outcomes in the same order.
RecoveryRunner = Callable[[Sequence[RecoveryTask]], Sequence[RecoveryOutcome]]


def run_recovery(task: RecoveryTask) -> RecoveryOutcome:
    """Recover one directory. Never raises, and may run in any process."""
    try:
        report = recover_directory(
            task.directory,
            task.config,
            recovery_point=task.recovery_point,
            log_start_offset=task.log_start_offset,
            now_ms=task.now_ms,
            producer_expiration_ms=task.producer_expiration_ms,
        )
    except OSError as error:
        problem = f"{error.strerror or error} while recovering {task.directory}"
        return RecoveryOutcome(task.directory, problem=problem, errno=error.errno)
    except (KafkaError, ValueError) as error:
        return RecoveryOutcome(
            task.directory, problem=f"{error} (while recovering {task.directory})"
        )
    return RecoveryOutcome(task.directory, report.scanned_bytes, report.truncated_bytes)


def run_recoveries(tasks: Sequence[RecoveryTask]) -> list[RecoveryOutcome]:
    """Recover one directory after the other, here."""
    return [run_recovery(task) for task in tasks]
