"""`headrace rest-proxy start FILE`: Kafka over HTTP, with Confluent's property names."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from headrace.cli.failure import CommandFailedError
from headrace.cli.start_action import add_start

if TYPE_CHECKING:
    from headrace.rest.server import RestServer


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_start(parser, "a proxy", "kafka-rest.properties", needs_file=False)


def run(args: argparse.Namespace) -> int:
    from headrace.server.structured_log import configure_logging

    configure_logging(args.log_level)
    try:
        from headrace.rest.config import RestConfigError, read_config
        from headrace.rest.server import run as serve
    except ImportError as error:
        raise CommandFailedError(
            f"The REST proxy needs packages that are not installed ({error.name});"
            " `pip install headrace[rest]` brings them."
        ) from error
    try:
        config = read_config(args.file, environment=os.environ, overrides=args.override)
        serve(config, _ready)
    except RestConfigError as error:
        raise CommandFailedError(str(error)) from error
    return 0


def _ready(server: RestServer) -> None:
    print(f"The REST proxy is up: {server.url} (documentation: {server.url}/docs)", flush=True)
