"""The node of `headrace up` as its options and the environment describe it.

The doctor looks at the same node, so both read it here.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from headrace.cli.failure import CommandFailedError

if TYPE_CHECKING:
    from headrace.server.properties import Properties

DEFAULT_PORT = 9092
_PORT_MAX = 65535


def add_place_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--data",
        metavar="DIR",
        help="where the node keeps its data (default: ~/.headrace/data)",
    )
    parser.add_argument(
        "--port",
        type=_client_port,
        help=f"the port for clients (default: {DEFAULT_PORT}; 0 picks a free one)",
    )


def port_number(text: str) -> int:
    """The type of an option that takes a port."""
    number = int(text) if text.isdecimal() and len(text) <= len(str(_PORT_MAX)) else _PORT_MAX + 1
    if number > _PORT_MAX:
        raise argparse.ArgumentTypeError(f"a port is a number from 0 to {_PORT_MAX}, not '{text}'")
    return number


def _client_port(text: str) -> int:
    number = port_number(text)
    if number == _PORT_MAX:
        raise argparse.ArgumentTypeError(f"{text} leaves no next port for the controller")
    return number


def client_port(args: argparse.Namespace) -> int:
    return DEFAULT_PORT if args.port is None else int(args.port)


def development_settings(args: argparse.Namespace, overrides: Iterable[str] = ()) -> Properties:
    """Defaults for development, `KAFKA_*` variables, options that were given, then overrides."""
    from headrace.server.config import development_listeners, development_properties
    from headrace.server.properties import load_properties

    if args.data == "":
        raise CommandFailedError("--data needs the name of a directory.")
    directory = args.data or os.path.join(os.path.expanduser("~"), ".headrace", "data")
    directory, port = os.path.abspath(directory), client_port(args)
    flags: dict[str, str] = {}
    if args.data is not None:
        flags["log.dirs"] = directory
    if args.port is not None:
        flags |= development_listeners(port)
    return load_properties(
        defaults=development_properties(directory, port),
        environment=os.environ,
        overrides=[*(f"{name}={value}" for name, value in flags.items()), *overrides],
    )
