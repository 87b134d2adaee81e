"""A user's file with pipelines, loaded; one sentence for each thing that can be wrong with it."""

from __future__ import annotations

import hashlib
import linecache
import os
import sys
import traceback
from collections.abc import Sequence
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType

from headrace.spark.errors import PipelineError
from headrace.spark.pipelines.declaration import Pipeline, declared_in


class LoadError(PipelineError):
    """The file cannot be used; the text says why, and where in it."""


def load_pipelines(path: str) -> list[Pipeline]:
    """The pipelines that a file declares."""
    if not os.path.exists(path):
        raise LoadError(f"There is no file {path}.")
    if os.path.isdir(path):
        raise LoadError(f"{path} is a directory: name the file that declares the pipelines.")
    return pipelines_of(vars(_load(path)).values(), path)


def pipelines_of(values: object, path: str) -> list[Pipeline]:
    """Those among the values of a module that came from `path`."""
    try:
        found = declared_in(values)  # type: ignore[arg-type]
    except PipelineError as error:
        raise LoadError(str(error)) from None
    if not found:
        raise LoadError(
            f"{path} declares no pipeline: put @pipeline (from headrace.spark) on a function that"
            " takes a SparkSession and returns a writer."
        )
    return found


def choose(pipelines: Sequence[Pipeline], names: Sequence[str]) -> list[Pipeline]:
    """The named ones, or all."""
    by_name = {declared.name: declared for declared in pipelines}
    unknown = [name for name in names if name not in by_name]
    if unknown:
        raise LoadError(f"There is no pipeline {unknown[0]} in the file, but {', '.join(by_name)}.")
    return [by_name[name] for name in dict.fromkeys(names)] if names else list(pipelines)


def _load(path: str) -> ModuleType:
    """The file as a module of its own; what lies beside it can be imported, as when it is run."""
    full = os.path.abspath(path)
    digest = hashlib.blake2s(full.encode(), digest_size=4).hexdigest()
    stem = os.path.splitext(os.path.basename(full))[0]
    spec = spec_from_file_location(f"headrace_pipelines_{stem}_{digest}", full)
    if spec is None or spec.loader is None:
        raise LoadError(f"{path} is not a Python file.")
    module = module_from_spec(spec)
    directory = os.path.dirname(full)
    if directory not in sys.path:
        sys.path.insert(0, directory)
    sys.modules[spec.name] = module
    _send_by_value(module)
    try:
        spec.loader.exec_module(module)
    except PipelineError as error:
        raise LoadError(f"{place_in(error, full)}: {error}") from error
    except Exception as error:
        raise LoadError(f"{path} cannot be loaded. {describe_in(error, full)}") from error
    except SystemExit as error:
        raise LoadError(f"{path} ended the program while it was loaded.") from error
    return module


def _send_by_value(module: ModuleType) -> None:
    """Spark's workers cannot import the file: its functions and classes travel to them whole."""
    try:
        from pyspark import cloudpickle
    except ImportError:  # the first thing that a run says
        return
    cloudpickle.register_pickle_by_value(module)


def describe_in(error: BaseException, path: str) -> str:
    """`NameError: ... (orders.py, line 7: print(x))`: the error, and the user's own line."""
    # A SyntaxError tells its place itself, and less of it.
    said = error.msg if isinstance(error, SyntaxError) else error
    text = f"{type(error).__name__}: {said}".strip().rstrip(":")
    return f"{text} ({place_in(error, path)})"


def place_in(error: BaseException, path: str) -> str:
    """The last line of the file that led to the error."""
    if isinstance(error, SyntaxError) and error.filename == path:
        return _place(path, error.lineno or 0)
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno or 0 for frame in frames if frame.filename == path]
    return _place(path, lines[-1]) if lines else os.path.basename(path)


def _place(path: str, line: int) -> str:
    source = linecache.getline(path, line).strip()
    where = f"{os.path.basename(path)}, line {line}"
    return f"{where}: {source}" if source else where
