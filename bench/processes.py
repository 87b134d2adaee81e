"""What a broker costs: CPU seconds and resident memory of its process and of those below it.

Helper processes count in full, running or ended, and pages shared between them count twice:
nothing a node does elsewhere makes its figures look smaller.
"""

import os
import signal
from pathlib import Path
from types import FrameType

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")

# Fields of /proc/PID/stat, counted from the one after the parenthesised name.
_PARENT = 1
_CPU_TICKS = slice(11, 15)  # utime, stime, and both of children already ended


def cpu_seconds(pid: int) -> float:
    """User and system time of a process and everything it started."""
    stats = _stats()
    ticks = 0
    for member in _tree(pid, stats):
        ticks += sum(int(field) for field in stats[member][_CPU_TICKS])
    return ticks / _TICKS_PER_SECOND


def resident_megabytes(pid: int) -> float:
    """VmRSS of a process and everything it started, in units of 10^6 bytes."""
    return sum(_resident_kilobytes(member) for member in _tree(pid, _stats())) * 1024 / 1e6


def _stats() -> dict[int, list[str]]:
    stats = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = path.read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue  # Ended since the directory was listed.
        stats[int(path.parent.name)] = text.rpartition(")")[2].split()
    return stats


def _tree(pid: int, stats: dict[int, list[str]]) -> list[int]:
    members = [pid]
    for member in members:
        members += [child for child, stat in stats.items() if int(stat[_PARENT]) == member]
    return members


def _resident_kilobytes(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmRSS:")), 0)


def end_cleanly_on_sigterm() -> None:
    """Turn SIGTERM into an exit that stops the brokers and removes their data."""

    def leave(_signal: int, _frame: FrameType | None) -> None:
        raise SystemExit(143)

    signal.signal(signal.SIGTERM, leave)
