"""`headrace server start FILE`: a node from a server.properties file; `stop` ends it, or all."""

from __future__ import annotations

import argparse
import logging
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from headrace.base.errors import KafkaError
from headrace.cli import server_stop
from headrace.cli.failure import CommandFailedError
from headrace.cli.start_action import add_actions, add_start_to

if TYPE_CHECKING:
    from headrace.server.config import NodeConfig
    from headrace.server.node import Node

logger = logging.getLogger("headrace.server")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = add_actions(parser)
    start = add_start_to(actions, "a node", "server.properties")
    start.add_argument(
        "--log-format", choices=("text", "json"), default="text", help="how log lines look"
    )
    stop = actions.add_parser(
        "stop", help="ask a node or all of them to stop, and wait until they have"
    )
    server_stop.add_arguments(stop)


def run(args: argparse.Namespace) -> int:
    return server_stop.stop(args) if args.action == "stop" else _start(args)


def _start(args: argparse.Namespace) -> int:
    from headrace.server.config import NodeConfig
    from headrace.server.properties import load_properties
    from headrace.server.structured_log import configure_logging

    configure_logging(args.log_level, as_json=args.log_format == "json")
    try:
        properties = load_properties(args.file, overrides=args.override, environment=os.environ)
        config = NodeConfig.from_properties(properties)
    except (KafkaError, OSError, ValueError) as error:
        raise CommandFailedError(str(error)) from error
    warn(config)

    def ready(node: Node) -> None:
        logger.info("listening on %s", node.bootstrap)

    return serve(config, ready)


def warn(config: NodeConfig) -> None:
    """Say what is odd about the settings, though nothing keeps the node from starting."""
    for warning in config.warnings:
        logger.warning("%s", warning)


def serve(
    config: NodeConfig,
    ready: Callable[[Node], None],
    before_stop: Callable[[], None] = lambda: None,
) -> int:
    """Run a node to its end; whatever keeps it from starting is one sentence."""
    from headrace.base.checks import InvariantBrokenError
    from headrace.log.directories import DataDirectoryError
    from headrace.server.running import NodeFailedError, run_node
    from headrace.server.sockets import BindError

    try:
        run_node(config, ready, before_stop=before_stop)
    except (DataDirectoryError, BindError, NodeFailedError, KafkaError) as error:
        raise CommandFailedError(str(error)) from error
    except InvariantBrokenError as error:
        raise CommandFailedError(f"The node cannot go on: {error}.") from error
    except OSError as error:
        raise refused_by_disk(error, config) from error
    return 0


def refused_by_disk(error: OSError, config: NodeConfig) -> CommandFailedError:
    # Writes to open files do not tell which file it was.
    place = error.filename or ", ".join(config.log_dirs)
    reason = error.strerror or str(error)
    return CommandFailedError(f"The node cannot work in {place}: {reason}.")
