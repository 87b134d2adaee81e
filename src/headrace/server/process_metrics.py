"""The process as the operating system sees it, under the names all Prometheus clients use."""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Iterator

from headrace.server.prometheus import COUNTER, GAUGE, Family, single


def process_families() -> Iterator[Family]:
    """Everything that this system can tell; Linux tells the most."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    yield single(
        "process_cpu_seconds_total",
        COUNTER,
        "User and system CPU time spent.",
        used.ru_utime + used.ru_stime,
    )
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if limit != resource.RLIM_INFINITY:
        yield single("process_max_fds", GAUGE, "Largest number of open files.", limit)
    if sys.platform == "linux":
        yield from _linux()


def _linux() -> Iterator[Family]:
    page = os.sysconf("SC_PAGESIZE")
    try:
        with open("/proc/self/stat", "rb") as file:
            # The command in brackets may hold anything; the numbers begin behind it.
            fields = file.read().rsplit(b")", 1)[1].split()
        with open("/proc/stat", "rb") as file:
            boot = next(int(line.split()[1]) for line in file if line.startswith(b"btime"))
        open_files = len(os.listdir("/proc/self/fd"))
    except (OSError, StopIteration):  # a container may hide them
        return
    start = boot + int(fields[19]) / os.sysconf("SC_CLK_TCK")
    yield single("process_start_time_seconds", GAUGE, "Start, in seconds since 1970.", start)
    yield single("process_virtual_memory_bytes", GAUGE, "Address space.", int(fields[20]))
    yield single("process_resident_memory_bytes", GAUGE, "Memory in RAM.", int(fields[21]) * page)
    yield single("process_open_fds", GAUGE, "Open files.", open_files)
