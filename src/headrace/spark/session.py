"""The SparkSession of a run: what people get wrong on a small machine is set, the rest is theirs.

Shuffle partitions are as many as there are cores (Spark's 200 make every stateful batch seconds
long), state is kept in RocksDB with changelog checkpoints, Arrow is on, the web page is off and
the log is quiet. Whatever `--conf` or spark-submit say comes before.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headrace.spark.errors import PipelineError
from headrace.spark.options import SERVERS_VARIABLE
from headrace.spark.shared_environment import settle_environment
from headrace.spark.worker_python import worker_python

BOOTSTRAP = "spark.headrace.bootstrap.servers"
REGISTRY = "spark.headrace.schema.registry.url"

_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_SHUFFLE = "spark.sql.shuffle.partitions"
_LOCAL = re.compile(r"local(?:\[\s*(\*|\d+)\s*(?:,\s*\d+\s*)?\])?")

_DEFAULTS = {
    "spark.sql.streaming.stateStore.providerClass": _ROCKSDB,
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # Each look at a batch's progress sees those since the last look.
    "spark.sql.streaming.numRecentProgressUpdates": "200",
}
_LOCAL_DEFAULTS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # One machine: nobody else should connect, and no name needs to be resolved.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # Over TCP Spark's small writes to its Python workers wait for delayed acknowledgements, which
    # costs every micro-batch 40 ms for each worker that it passes.
    "spark.python.unix.domain.socket.enabled": "true",
}


@dataclass(frozen=True, slots=True)
class SessionConfig:
    """What a run asks of its session."""

    app_name: str
    #: None leaves it to spark-submit, or to the local default.
    master: str | None = None
    bootstrap_servers: str = ""
    schema_registry_url: str = ""
    conf: Mapping[str, str] = field(default_factory=dict)
    #: Where Spark's own log goes; None leaves it on the screen.
    log_file: str | None = None


def local_cores(master: str) -> int | None:
    """The cores that a local master uses; None for a cluster."""
    match = _LOCAL.fullmatch(master.strip())
    if match is None:
        return None
    asked = match[1]
    if asked is None:
        return 1
    return available_cores() if asked == "*" else int(asked)


def available_cores() -> int:
    """Those that this process may use, which a container may have narrowed."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def session_settings(config: SessionConfig, given: Mapping[str, str]) -> dict[str, str]:
    """All settings; `given` are those of spark-submit and spark-defaults.conf."""
    master = config.master or given.get("spark.master") or "local[*]"
    settings = {"spark.app.name": config.app_name, "spark.master": master, **_DEFAULTS}
    cores = local_cores(master)
    if cores is not None:
        settings |= _LOCAL_DEFAULTS | {_SHUFFLE: str(cores)}
    settings |= {name: value for name, value in given.items() if name != "spark.app.name"}
    settings |= config.conf
    settings["spark.master"] = master
    if config.bootstrap_servers:
        settings[BOOTSTRAP] = config.bootstrap_servers
    if config.schema_registry_url:
        settings[REGISTRY] = config.schema_registry_url
    return settings


def open_session(config: SessionConfig) -> Any:
    """A session with these settings; the one that runs already if there is one."""
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    if config.bootstrap_servers:
        # For the processes that plan queries, which the JVM starts with its own environment.
        os.environ[SERVERS_VARIABLE] = config.bootstrap_servers
    is_submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    given = dict(SparkConf(loadDefaults=True).getAll()) if is_submitted else {}
    settings = session_settings(config, given)
    cores = local_cores(settings["spark.master"])
    if not is_submitted and cores is not None:
        os.environ.setdefault("PYSPARK_PYTHON", _python(config.log_file))
    conf = SparkConf(loadDefaults=is_submitted)
    for name, value in settings.items():
        conf.set(name, value)
    if not is_submitted and SparkContext._active_spark_context is None:
        SparkContext(conf=conf, gateway=_own_gateway(conf, config.log_file))
    builder = SparkSession.builder
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    # spark-submit's log is on the screen, where people read the runner's lines.
    level = "ERROR" if is_submitted else "WARN"
    session.sparkContext.setLogLevel(settings.get("spark.log.level", level))
    if cores is None:
        _spread_over_cores(session, settings)
    return session


def close_session(spark: Any) -> None:
    """End Spark's Java process as well, unless it is the one that started us (spark-submit)."""
    gateway = spark.sparkContext._gateway
    process = gateway.proc
    # It may have ended by itself, and then nothing answers any more.
    with contextlib.suppress(Exception):
        spark.stop()
    if process is not None:
        with contextlib.suppress(Exception):
            gateway.shutdown()
        process.stdin.close()
        process.wait()


def use_in_this_thread(session: Any) -> None:
    """Make the session known to the JVM thread that serves this one.

    Spark looks for data sources written in Python in the active session, and a thread of ours has
    none of its own: `writeStream.format("headrace")` would not be found. Queries may be started at
    once then.
    """
    from pyspark.sql import SparkSession

    found = SparkSession._get_j_spark_session_class(session._jvm)
    found.setActiveSession(session._jsparkSession)
    settle_environment(session)


def _python(log_file: str | None) -> str:
    """Workers on this machine have what the driver has; machines of a cluster have their own."""
    if log_file is None:
        return sys.executable
    os.makedirs(os.path.dirname(log_file), exist_ok=True)
    return worker_python(os.path.dirname(log_file))


def _own_gateway(conf: Any, log_file: str | None) -> Any:
    """A JVM in a session of its own: Ctrl-C is for the runner, which lets a running batch end."""
    from pyspark.errors import PySparkRuntimeError
    from pyspark.java_gateway import launch_gateway

    how: dict[str, Any] = {"start_new_session": True}
    if log_file is not None:
        os.makedirs(os.path.dirname(log_file), exist_ok=True)
        how["stderr"] = open(log_file, "wb")  # noqa: SIM115 - the child's, closed below
    try:
        return launch_gateway(conf, popen_kwargs=how)
    except PySparkRuntimeError as error:
        where = f": {_last_line(log_file)}" if log_file else "; what it said stands above."
        raise PipelineError(f"Spark's Java process ended before it was ready{where}") from error
    finally:
        if log_file is not None:
            how["stderr"].close()


def _last_line(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as log:
        lines = [line.strip() for line in log if line.strip()]
    return f"{lines[-1]} (all of it is in {path})" if lines else f"it said nothing ({path})."


def _spread_over_cores(session: Any, settings: Mapping[str, str]) -> None:
    """On a cluster the number of cores is known once executors are there."""
    if _SHUFFLE not in settings:
        session.conf.set(_SHUFFLE, str(max(session.sparkContext.defaultParallelism, 1)))
