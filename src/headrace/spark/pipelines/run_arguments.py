"""The options of a run, the same for `headrace pipelines run`, `python FILE` and spark-submit."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

from headrace.spark.options import SERVERS_VARIABLE
from headrace.spark.pipelines.declaration import Pipeline
from headrace.spark.pipelines.run_plan import RunOptions, RunPlan
from headrace.spark.pipelines.state_directory import ENVIRONMENT, StateDirectory
from headrace.spark.session import SessionConfig

_DEFAULT_SERVERS = "localhost:9092"


def add_run_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="the pipelines to run (default: all of the file)"
    )
    add_session_arguments(parser)
    parser.add_argument("--once", action="store_true", help="read what is there now, then end")
    parser.add_argument(
        "--bootstrap-server",
        metavar="HOST:PORT,...",
        help="the brokers of sources and outputs that name none (default: the environment variable"
        f" {SERVERS_VARIABLE}, else {_DEFAULT_SERVERS})",
    )
    parser.add_argument(
        "--registry-url",
        metavar="URL",
        help="the schema registry of functions that name none (default: the environment variable"
        " SCHEMA_REGISTRY_URL)",
    )
    parser.add_argument(
        "--checkpoint-dir",
        metavar="URI",
        help="where Spark keeps offsets and state, if not in the state directory; on a cluster a"
        " place that all machines see (hdfs://, s3a://, a shared directory)",
    )
    parser.add_argument(
        "--retry-seconds",
        metavar="N",
        type=float,
        default=300.0,
        help="how long a pipeline is started again while brokers or databases are away"
        " (default: 300)",
    )


def add_session_arguments(parser: argparse.ArgumentParser) -> None:
    """Where and how Spark runs, and where its log goes."""
    parser.add_argument(
        "--master",
        help="where Spark runs: local[N], spark://HOST:PORT, yarn, k8s://... (default: local[*])",
    )
    parser.add_argument(
        "--conf",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="a setting of Spark; may be given several times",
    )
    add_state_argument(parser)


def add_state_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--state-dir",
        metavar="DIR",
        help="where pipelines keep their state (default: the environment variable"
        f" {ENVIRONMENT}, else ~/.headrace/pipelines)",
    )


def run_plan(args: argparse.Namespace, file: str, pipelines: Sequence[Pipeline]) -> RunPlan:
    """What the options ask for; raises ValueError."""
    servers = args.bootstrap_server or os.environ.get(SERVERS_VARIABLE)
    registry = args.registry_url or os.environ.get("SCHEMA_REGISTRY_URL") or ""
    state = StateDirectory.find(args.state_dir)
    stem = os.path.splitext(os.path.basename(file))[0]
    return RunPlan(
        file=file,
        pipelines=pipelines,
        state=state,
        session=SessionConfig(
            app_name=f"headrace {stem}",
            master=args.master,
            bootstrap_servers=servers or _DEFAULT_SERVERS,
            schema_registry_url=registry,
            conf=spark_settings(args.conf),
            log_file=os.path.join(state.path, ".spark", f"{stem}.log"),
        ),
        options=RunOptions(
            bootstrap_servers=servers or _DEFAULT_SERVERS,
            schema_registry_url=registry,
            checkpoint_root=args.checkpoint_dir,
            once=args.once,
            retry_seconds=args.retry_seconds,
        ),
    )


def spark_settings(pairs: Sequence[str]) -> dict[str, str]:
    """`--conf NAME=VALUE` as settings; raises ValueError."""
    settings = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise ValueError(f"--conf takes NAME=VALUE, not '{pair}'.")
        settings[name.strip()] = value.strip()
    return settings
