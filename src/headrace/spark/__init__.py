"""Data pipelines on Spark: topics in, topics, files and databases out.

The names are found when they are first used: the commands that look at pipelines work without
PySpark.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headrace.spark.errors import DataLossError, OptionError, PipelineError
    from headrace.spark.pipelines.declaration import pipeline
    from headrace.spark.pipelines.main import main

#: Where each public name lives.
_HOMES = {
    "DataLossError": "errors",
    "OptionError": "errors",
    "PipelineError": "errors",
    "main": "pipelines.main",
    "pipeline": "pipelines.declaration",
}

__all__ = ["DataLossError", "OptionError", "PipelineError", "main", "pipeline"]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    return getattr(import_module(f"{__name__}.{home}"), name)
