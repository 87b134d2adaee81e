"""`headrace schema-registry start FILE`: a registry from a schema-registry.properties file."""

from __future__ import annotations

import argparse
import logging
import os
from typing import TYPE_CHECKING

from headrace.base.errors import KafkaError
from headrace.base.java_properties import decode_properties, parse_properties
from headrace.cli.failure import CommandFailedError
from headrace.cli.start_action import add_start

if TYPE_CHECKING:
    from headrace.registry.running import RunningRegistry


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_start(parser, "a registry", "schema-registry.properties")


def run(args: argparse.Namespace) -> int:
    from headrace.server.structured_log import configure_logging

    settings = read_settings(args.file, args.override)
    try:
        from headrace.registry.config import RegistryConfig
        from headrace.registry.errors import RegistryError
        from headrace.registry.running import run_registry
        from headrace.web.server import ListenError
    except ImportError as error:
        raise CommandFailedError(
            f"The registry needs the package {error.name}: pip install 'headrace[registry]'."
        ) from error
    configure_logging(args.log_level)
    logger = logging.getLogger("headrace.registry")

    def ready(registry: RunningRegistry) -> None:
        logger.info("listening on port %d, as %s", registry.port, registry.me.url)

    try:
        run_registry(RegistryConfig.from_settings(settings), ready)
    except (KafkaError, ListenError, ValueError, RegistryError) as error:
        raise CommandFailedError(str(error)) from error
    return 0


def read_settings(path: str, overrides: list[str]) -> dict[str, str]:
    """The file, then the environment, then overrides; a later one replaces an earlier one."""
    try:
        with open(path, "rb") as file:
            text = decode_properties(file.read())
    except OSError as error:
        raise CommandFailedError(f"Cannot read {path}: {error.strerror}.") from error
    from headrace.registry.config import environment_settings

    settings = {name: value for _, name, value in parse_properties(text)}
    settings |= environment_settings(os.environ)
    for override in overrides:
        name, equals, value = override.partition("=")
        if not equals or not name.strip():
            raise CommandFailedError(f"--override takes name=value, not '{override}'.")
        settings[name.strip()] = value
    return settings
