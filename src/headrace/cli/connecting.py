"""The options with which every tool finds its cluster, and the client made from them."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping

from headrace.cli.failure import CommandFailedError
from headrace.client.blocking import KafkaClient
from headrace.client.config import ClientConfig, ClientConfigError
from headrace.client.properties import parse_assignments, read_properties

DEFAULT_BOOTSTRAP = "localhost:9092"


def add_connection_arguments(
    parser: argparse.ArgumentParser, *, controllers: bool = False, command_config: bool = True
) -> None:
    """`--bootstrap-server`, `--command-config` and, where it makes sense, controllers."""
    group = parser.add_mutually_exclusive_group()
    add_bootstrap_server(group)
    if controllers:
        group.add_argument(
            "--bootstrap-controller",
            metavar="HOST:PORT,...",
            help="the controllers to connect to, instead of brokers",
        )
    if command_config:
        parser.add_argument(
            "--command-config", metavar="FILE", help="properties file for the admin client"
        )


def add_bootstrap_server(
    group: argparse._ActionsContainer, *names: str, default_help: str = ""
) -> None:
    group.add_argument(
        "--bootstrap-server",
        *names,
        metavar="HOST:PORT,...",
        help="the brokers to connect to (default: the environment variable"
        f" KAFKA_BOOTSTRAP_SERVERS, else {DEFAULT_BOOTSTRAP}){default_help}",
    )


def open_client(
    args: argparse.Namespace, client_id: str, extra: Mapping[str, str] | None = None
) -> KafkaClient:
    """The client that a tool's options describe; connects at its first request."""
    return KafkaClient(client_config(args, client_id, extra))


def client_config(
    args: argparse.Namespace, client_id: str, extra: Mapping[str, str] | None = None
) -> ClientConfig:
    """Properties file first, then `name=value` options, then the bootstrap options."""
    settings = read_command_config(getattr(args, "command_config", None))
    settings |= extra or {}
    try:
        return ClientConfig.from_settings(_with_bootstrap(args, settings), client_id=client_id)
    except ClientConfigError as error:
        raise CommandFailedError(str(error)) from error


def read_command_config(path: str | None) -> dict[str, str]:
    """The settings of a `--command-config` file, empty without one."""
    if path is None:
        return {}
    try:
        return read_properties(path)
    except OSError as error:
        raise CommandFailedError(f"{path}: {error.strerror}") from error


def parse_property_options(pairs: list[str] | None) -> dict[str, str]:
    """`--command-property name=value` and its siblings."""
    try:
        return parse_assignments(pairs or [])
    except ValueError as error:
        raise CommandFailedError(str(error)) from error


def _with_bootstrap(args: argparse.Namespace, settings: dict[str, str]) -> dict[str, str]:
    controllers = getattr(args, "bootstrap_controller", None)
    if controllers:
        return {**settings, "bootstrap.controllers": controllers, "bootstrap.servers": ""}
    servers = getattr(args, "bootstrap_server", None)
    if not servers:
        servers = settings.get("bootstrap.servers") or default_servers()
    return {**settings, "bootstrap.servers": servers}


def default_servers() -> str:
    """The brokers where nobody names any."""
    return os.environ.get("KAFKA_BOOTSTRAP_SERVERS") or DEFAULT_BOOTSTRAP
