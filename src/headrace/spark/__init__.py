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
    from headrace.spark.registry.dead_letters import dead_letters, split_dead_letters
    from headrace.spark.registry.functions import from_registry, with_registry
    from headrace.spark.registry.read_columns import decoded_values
    from headrace.spark.registry.writing import to_registry
    from headrace.spark.stores.delta import to_delta
    from headrace.spark.stores.errors import StoreError, StoreUnavailable
    from headrace.spark.stores.parquet import to_parquet
    from headrace.spark.stores.postgres import to_postgres
    from headrace.spark.stores.redis import to_redis
    from headrace.spark.stores.retrying import Retries
    from headrace.spark.stores.topic_loads import TopicLoad, load_topic
    from headrace.spark.topic_output import to_topic

#: Where each public name lives.
_HOMES = {
    "DataLossError": "errors",
    "OptionError": "errors",
    "PipelineError": "errors",
    "Retries": "stores.retrying",
    "StoreError": "stores.errors",
    "StoreUnavailable": "stores.errors",
    "TopicLoad": "stores.topic_loads",
    "dead_letters": "registry.dead_letters",
    "decoded_values": "registry.read_columns",
    "from_registry": "registry.functions",
    "load_topic": "stores.topic_loads",
    "main": "pipelines.main",
    "pipeline": "pipelines.declaration",
    "split_dead_letters": "registry.dead_letters",
    "to_delta": "stores.delta",
    "to_parquet": "stores.parquet",
    "to_postgres": "stores.postgres",
    "to_redis": "stores.redis",
    "to_registry": "registry.writing",
    "to_topic": "topic_output",
    "with_registry": "registry.functions",
}

__all__ = [
    "DataLossError",
    "OptionError",
    "PipelineError",
    "Retries",
    "StoreError",
    "StoreUnavailable",
    "TopicLoad",
    "dead_letters",
    "decoded_values",
    "from_registry",
    "load_topic",
    "main",
    "pipeline",
    "split_dead_letters",
    "to_delta",
    "to_parquet",
    "to_postgres",
    "to_redis",
    "to_registry",
    "to_topic",
    "with_registry",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    return getattr(import_module(f"{__name__}.{home}"), name)
