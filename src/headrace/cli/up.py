"""`headrace up`: a node for development with no configuration, and the services beside it."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from headrace.base.errors import KafkaError
from headrace.cli.development_options import (
    add_place_arguments,
    client_port,
    development_settings,
    port_number,
)
from headrace.cli.failure import CommandFailedError

if TYPE_CHECKING:
    from headrace.cli.beside import Beside
    from headrace.server.node import Node
    from headrace.server.properties import Properties

#: Where the JMX exporter serves Kafka's metrics by convention, so Prometheus knows the way.
DEFAULT_METRICS_PORT = 9404


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_place_arguments(parser)
    parser.add_argument(
        "--metrics-port",
        type=port_number,
        metavar="PORT",
        help=f"the port for /metrics, /healthz and /readyz (default: {DEFAULT_METRICS_PORT},"
        " or a free one if --port is 0)",
    )
    parser.add_argument(
        "--registry-port",
        type=port_number,
        metavar="PORT",
        help="the port of the schema registry (default: 8081, or none if --port is 0; 0 for none)",
    )
    parser.add_argument(
        "--rest-port",
        type=port_number,
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
    from headrace.cli.beside import Beside
    from headrace.cli.server import refused_by_disk, serve, warn
    from headrace.server.config import NodeConfig
    from headrace.server.development import ensure_formatted
    from headrace.server.structured_log import configure_logging

    configure_logging(args.log_level)
    try:
        settings, metrics_note = _settings(args)
        config = NodeConfig.from_properties(settings)
    except (KafkaError, ValueError) as error:
        raise CommandFailedError(str(error)) from error
    except OSError as error:
        raise CommandFailedError(f"The working directory: {error.strerror}.") from error
    warn(config)
    try:
        # As with Kafka's images, a new directory belongs to the cluster of this variable.
        ensure_formatted(config, os.environ.get("CLUSTER_ID") or None)
    except KafkaError as error:
        raise CommandFailedError(str(error)) from error
    except OSError as error:
        raise refused_by_disk(error, config) from error

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
        if port is None and client_port(args):
            port = service.default_port
        if args.node_only or not port:
            continue
        place = beside.start(service, port, bootstrap, *settings)
        if service is REGISTRY and place.startswith("http"):
            settings = (f"schema.registry.url={place}",)
        yield service.label, place


def _settings(args: argparse.Namespace) -> tuple[Properties, str]:
    """The node's settings, and why there are no metrics if their usual port is taken."""
    from headrace.base.settings.tables.headrace import METRICS_LISTENER
    from headrace.server.sockets import is_taken

    flags = []
    if args.metrics_port is not None:
        flags.append(f"{METRICS_LISTENER}=127.0.0.1:{args.metrics_port}")
    settings = development_settings(args, [*flags, *args.override])
    if METRICS_LISTENER not in settings.values:
        port = DEFAULT_METRICS_PORT if client_port(args) else 0
        if is_taken(port):
            return settings, f"port {port} is taken; --metrics-port picks another"
        settings.put(METRICS_LISTENER, f"127.0.0.1:{port}", "development defaults")
    return settings, ""


def _metrics_url(node: Node) -> str:
    return f"http://{node.status.host}:{node.status.port}/metrics" if node.status else ""
