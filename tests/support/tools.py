"""Programs that pip does not install: found, skipped for, or in CI insisted on."""

import os
import shutil
from pathlib import Path
from typing import NoReturn

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
JAVA_SOURCES = REPOSITORY / "tests" / "java"
JAVA_LIB = REPOSITORY / ".cache" / "java" / "lib"


def in_ci() -> bool:
    """Whether this run may not leave anything out."""
    return os.environ.get("CI", "").lower() not in ("", "0", "false")


def missing(reason: str) -> NoReturn:
    """Skip the test on a developer's machine, fail it in CI."""
    if in_ci():
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def require_program(name: str) -> str:
    """The path of a program on PATH."""
    path = shutil.which(name)
    if path is None:
        missing(f"{name} is not installed; `make packages` installs it on Debian")
    return path


def require_java() -> str:
    """The path of `java`, with Apache Kafka's jars fetched."""
    java = require_program("java")
    if not any(JAVA_LIB.glob("kafka-clients-*.jar")):
        missing("Apache Kafka's jars are not there; `make java` fetches them")
    return java
