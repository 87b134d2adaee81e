"""The doctor's look at the machine: Python, libraries, limits, Java."""

from __future__ import annotations

import importlib.util
import sys

from headrace.cli.doctor_findings import Finding, note, ok, wrong
from headrace.spark.pipelines.requirements import JAVA_MIN, find_java, java_version

_PYTHON_MIN = (3, 11)
#: By the names under which they are imported; uvloop is looked at apart.
LIBRARIES = ("crc32c", "lz4", "cramjam", "re2", "xxhash")
#: A node opens files lazily and works from here on; more are needed for many clients.
_OPEN_FILES_MIN, _OPEN_FILES_GOOD = 1024, 4096


def check_python(version: tuple[int, ...] = tuple(sys.version_info[:3])) -> Finding:
    text = ".".join(map(str, version))
    if version < _PYTHON_MIN:
        return wrong("python", f"Python {text} is too old: Headrace needs 3.11 or newer.")
    return ok("python", f"Python {text}.")


def check_libraries() -> list[Finding]:
    missing = [name for name in LIBRARIES if importlib.util.find_spec(name) is None]
    findings = [
        wrong("libraries", f"The library {name} is missing: pip install headrace brings it.")
        for name in missing
    ]
    if not missing:
        findings.append(ok("libraries", "All libraries that a node needs are installed."))
    if sys.platform != "win32" and importlib.util.find_spec("uvloop") is None:
        findings.append(note("libraries", "uvloop is not installed: the node works, but slower."))
    return findings


def check_open_files(limit: int | None = None) -> Finding:
    soft = _open_files_limit() if limit is None else limit
    if soft is None:
        return note("open files", "The limit of open files cannot be read on this system.")
    if soft < _OPEN_FILES_MIN:
        return wrong(
            "open files",
            f"A node may open only {soft} files, which is too few:"
            f" raise the limit with `ulimit -n {_OPEN_FILES_GOOD}`.",
        )
    if soft < _OPEN_FILES_GOOD:
        return note(
            "open files",
            f"A node may open {soft} files: enough for development; for many clients"
            " raise it, for instance with `ulimit -n 65536`.",
        )
    return ok("open files", f"A node may open {soft} files.")


def _open_files_limit() -> int | None:
    try:
        import resource
    except ImportError:
        return None
    from headrace.server.file_limit import raise_file_limit

    raise_file_limit()  # as a node does: what it starts with says little, 256 on a Mac
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 2**31 - 1 if soft == resource.RLIM_INFINITY else soft


def check_java() -> Finding:
    """Only Spark pipelines need Java, so its absence is a note."""
    need = f"Spark pipelines need Java {JAVA_MIN} or newer; a node does not"
    java = find_java()
    if java is None:
        return note("java", f"No Java was found on PATH or in JAVA_HOME. {need}.")
    version = java_version(java)
    if version is None:
        return note("java", f"{java} does not tell its version. {need}.")
    if version < JAVA_MIN:
        return note("java", f"Java {version} ({java}) is too old. {need}.")
    return ok("java", f"Java {version} is there for Spark ({java}).")
