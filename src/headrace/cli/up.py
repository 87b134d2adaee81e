"""`headrace up`: a node for development, with no configuration at all."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from headrace.base.errors import KafkaError
from headrace.cli.failure import CommandFailedError

if TYPE_CHECKING:
    from headrace.server.node import Node

DEFAULT_PORT = 9092
#: Where the JMX exporter serves Kafka's metrics by convention, so Prometheus knows the way.
DEFAULT_METRICS_PORT = 9404


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--data",
        metavar="DIR",
        default=os.path.join(os.path.expanduser("~"), ".headrace", "data"),
        help="where the node keeps its data (default: ~/.headrace/data)",
    )
    parser.add_argument(
        "--port",
        type=int,
        default=DEFAULT_PORT,
        help=f"the port for clients (default: {DEFAULT_PORT}; 0 picks a free one)",
    )
    parser.add_argument(
        "--metrics-port",
        type=int,
        metavar="PORT",
        help=f"the port for /metrics, /healthz and /readyz (default: {DEFAULT_METRICS_PORT},"
        " or a free one if --port is 0)",
    )
    parser.add_argument(
        "--override",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="a setting of server.properties; may be given several times",
    )
    parser.add_argument(
        "--log-level", default="WARNING", help="DEBUG, INFO, WARNING or ERROR (default: WARNING)"
    )


def run(args: argparse.Namespace) -> int:
    from headrace.base.settings.tables.headrace import METRICS_LISTENER
    from headrace.cli.server import serve
    from headrace.server.config import NodeConfig
    from headrace.server.development import ensure_formatted
    from headrace.server.sockets import is_taken
    from headrace.server.structured_log import configure_logging

    configure_logging(args.log_level)
    if not args.data:
        raise CommandFailedError("--data needs the name of a directory.")
    overrides = dict(_split(pair) for pair in args.override)
    metrics_note = ""
    if METRICS_LISTENER not in overrides:
        metrics_port = _metrics_port(args)
        if args.metrics_port is None and is_taken(metrics_port):
            metrics_note = f"port {metrics_port} is taken; --metrics-port picks another"
        else:
            overrides[METRICS_LISTENER] = f"127.0.0.1:{metrics_port}"
    try:
        config = NodeConfig.for_development(os.path.abspath(args.data), args.port, overrides)
        ensure_formatted(config)
    except (KafkaError, OSError, ValueError) as error:
        raise CommandFailedError(str(error)) from error

    def ready(node: Node) -> None:
        print("Headrace is up.")
        print(f"  Kafka clients   {node.bootstrap}")
        print(f"  metrics         {_metrics_url(node) or metrics_note or 'off'}")
        print(f"  data            {', '.join(config.log_dirs)}")
        print(f"  try             headrace topics --list --bootstrap-server {node.bootstrap}")
        print("Ctrl-C stops it.", flush=True)

    code = serve(config, ready)
    print("Stopped.", file=sys.stderr)
    return code


def _metrics_port(args: argparse.Namespace) -> int:
    if args.metrics_port is not None:
        return int(args.metrics_port)
    return DEFAULT_METRICS_PORT if args.port else 0


def _metrics_url(node: Node) -> str:
    return f"http://{node.status.host}:{node.status.port}/metrics" if node.status else ""


def _split(pair: str) -> tuple[str, str]:
    name, equals, value = pair.partition("=")
    if not equals:
        raise CommandFailedError(f"--override takes NAME=VALUE, not '{pair}'.")
    return name.strip(), value.strip()
