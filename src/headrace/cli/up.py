"""`headrace up`: a node for development with no configuration, and the services beside it."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from headrace.base.errors import KafkaError
from headrace.cli.failure import CommandFailedError

if TYPE_CHECKING:
    from headrace.cli.beside import Beside
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
        "--registry-port",
        type=int,
        metavar="PORT",
        help="the port of the schema registry (default: 8081, or none if --port is 0; 0 for none)",
    )
    parser.add_argument(
        "--rest-port",
        type=int,
        metavar="PORT",
        help="the port of the REST proxy (default: 8082, or none if --port is 0; 0 for none)",
    )
    parser.add_argument(
        "--node-only", action="store_true", help="start neither schema registry nor REST proxy"
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
    from headrace.cli.beside import Beside
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

    beside = Beside()

    def ready(node: Node) -> None:
        print("Headrace is up.")
        print(f"  Kafka clients   {node.bootstrap}")
        for label, place in _start_services(args, beside, node.bootstrap):
            print(f"  {label:<15} {place}")
        print(f"  metrics         {_metrics_url(node) or metrics_note or 'off'}")
        print(f"  data            {', '.join(config.log_dirs)}")
        print(f"  try             headrace topics --list --bootstrap-server {node.bootstrap}")
        print("Ctrl-C stops it.", flush=True)

    try:
        code = serve(config, ready, beside.stop)
    finally:
        beside.stop()
    print("Stopped.", file=sys.stderr)
    return code


def _start_services(
    args: argparse.Namespace, beside: Beside, bootstrap: str
) -> Iterator[tuple[str, str]]:
    """Registry and proxy on their ports; a node on a port of chance is a test's, and has none."""
    from headrace.cli.beside import REGISTRY, REST_PROXY

    asked = {REGISTRY: args.registry_port, REST_PROXY: args.rest_port}
    settings: tuple[str, ...] = ()
    for service, port in asked.items():
        if port is None and args.port:
            port = service.default_port
        if args.node_only or not port:
            continue
        place = beside.start(service, port, bootstrap, *settings)
        if service is REGISTRY and place.startswith("http"):
            settings = (f"schema.registry.url={place}",)
        yield service.label, place


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
