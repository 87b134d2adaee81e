"""The Python that Spark starts: ours, without Spark's zip files in its path."""

import os
import subprocess
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from headrace.spark import worker_python as module
from headrace.spark.worker_python import worker_python


def installed_at(monkeypatch: pytest.MonkeyPatch, origin: str | None) -> None:
    spec = None if origin is None else ModuleSpec("pyspark", None, origin=origin)
    monkeypatch.setattr(module, "find_spec", lambda name: spec)


def test_the_path_keeps_everything_but_the_zips(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed_at(monkeypatch, "/somewhere/pyspark/__init__.py")
    python = worker_python(tmp_path / "with space")
    path = "/s/python/lib/pyspark.zip:/s/py4j-0.10.9.9-src.zip:/mine dir:/other.zip"
    command = [python, "-c", "import os, sys; print(os.environ['PYTHONPATH'], sys.executable)"]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == f"/mine dir:/other.zip {sys.executable}"
    before = os.stat(python).st_mtime_ns
    assert worker_python(tmp_path / "with space") == python
    assert os.stat(python).st_mtime_ns == before


@pytest.mark.parametrize("origin", [None, "/s/python/lib/pyspark.zip/pyspark/__init__.py"])
def test_without_an_installed_pyspark_it_is_this_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, origin: str | None
) -> None:
    installed_at(monkeypatch, origin)
    assert worker_python(tmp_path) == sys.executable
    assert list(tmp_path.iterdir()) == []
