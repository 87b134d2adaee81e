"""On what a run was made: figures mean nothing without it."""

import datetime
import os
import platform
import subprocess
from pathlib import Path

from tests.support.tools import JAVA_LIB, REPOSITORY


def environment() -> dict[str, str]:
    """The machine, the programs and the commit, as they go into results and documents."""
    return {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
        "commit": _first_line("git", "-C", str(REPOSITORY), "describe", "--always", "--dirty"),
        "cpu": f"{os.cpu_count()} x {_processor()}",
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 1e9:.0f} GB",
        "system": f"{platform.system()} {platform.release().partition('-')[0]}",
        "python": platform.python_version(),
        "java": _first_line("java", "-version"),
        "apache kafka": _kafka_version(),
    }


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return " ".join(line.partition(":")[2].split())
    return platform.machine()


def _kafka_version() -> str:
    jar = next(JAVA_LIB.glob("kafka-clients-*.jar"))
    return jar.stem.removeprefix("kafka-clients-")


def _first_line(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    lines = (done.stdout or done.stderr).splitlines()
    return lines[0] if lines else "unknown"
