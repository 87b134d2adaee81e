"""What pip does not bring, or brought in a version too old: found before Spark starts, in words."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, version

from headrace.spark.errors import PipelineError

JAVA_MIN = 17
PYSPARK_MIN = (4, 2)
_INSTALL = 'pip install "headrace[spark]"'
_JAVA_SECONDS = 20


class RequirementError(PipelineError):
    """Something is missing on this machine; the text says what to install."""


def check_requirements() -> None:
    """Raise RequirementError for the first thing that is missing."""
    check_pyspark()
    check_java()


def check_pyspark() -> str:
    """The version of PySpark."""
    try:
        found = version("pyspark")
    except PackageNotFoundError:
        raise RequirementError(f"PySpark is not installed: {_INSTALL} brings it.") from None
    numbers = tuple(int(part) for part in re.findall(r"\d+", found)[:2])
    if numbers < PYSPARK_MIN:
        wanted = ".".join(map(str, PYSPARK_MIN))
        raise RequirementError(
            f"PySpark {found} is too old: pipelines need {wanted} or newer; {_INSTALL} brings it."
        )
    return found


def check_java() -> str:
    """The path of a Java that Spark can use."""
    java = find_java()
    if java is None:
        raise RequirementError(
            f"Spark needs Java {JAVA_MIN} or newer, and there is none on PATH or in JAVA_HOME:"
            " install one (apt install openjdk-17-jre-headless, brew install openjdk@17)."
        )
    found = java_version(java)
    if found is not None and found < JAVA_MIN:
        raise RequirementError(
            f"Spark needs Java {JAVA_MIN} or newer, and {java} is Java {found}: install a newer"
            " one, or point JAVA_HOME at it."
        )
    return java


def find_java() -> str | None:
    """The one that Spark's scripts would start: JAVA_HOME's before PATH's."""
    home = os.environ.get("JAVA_HOME")
    if home:
        candidate = os.path.join(home, "bin", "java")
        return candidate if os.access(candidate, os.X_OK) else None
    return shutil.which("java")


def java_version(java: str) -> int | None:
    """Its major version; None if it does not tell."""
    try:
        done = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=_JAVA_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return parse_java_version(done.stderr + done.stdout)


def parse_java_version(text: str) -> int | None:
    """17 of `openjdk version "17.0.15"`, 8 of `java version "1.8.0_292"`."""
    match = re.search(r'version "(\d+)(?:\.(\d+))?', text)
    if match is None:
        return None
    major = int(match[1])
    return int(match[2]) if major == 1 and match[2] else major
