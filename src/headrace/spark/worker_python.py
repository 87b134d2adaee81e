"""The Python that Spark starts on this machine: ours, with PySpark from its installed files.

Spark starts half a dozen Python processes before the first row: for looking up data sources, for
planning, for reading. Each would be the `python3` of the PATH, and each would compile PySpark anew
from a zip file in front of its path, most of a second of a core every time.
"""

from __future__ import annotations

import os
import shlex
import sys
from importlib.util import find_spec
from pathlib import Path

_SCRIPT = """\
#!/bin/sh
# Leaves Spark's zip files out of the path: the installed package is the same, and compiled.
kept=
IFS=:
for entry in $PYTHONPATH; do
  case $entry in
    */pyspark.zip | */py4j-*-src.zip) ;;
    *) kept="$kept${{kept:+:}}$entry" ;;
  esac
done
unset IFS
PYTHONPATH=$kept
export PYTHONPATH
exec {python} "$@"
"""


def worker_python(directory: str | os.PathLike[str]) -> str:
    """What PYSPARK_PYTHON should be on a local master; the script goes into the directory."""
    found = find_spec("pyspark")
    if found is None or found.origin is None or ".zip" in found.origin:
        return sys.executable
    path = Path(directory) / "python"
    text = _SCRIPT.format(python=shlex.quote(sys.executable))
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_name(f".python-{os.getpid()}")
        fresh.write_text(text)
        fresh.chmod(0o755)
        fresh.replace(path)
    return str(path)
