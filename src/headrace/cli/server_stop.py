"""`headrace server stop`: ask nodes to end, and wait for them.

With a server.properties file that is its node, else all nodes of this user on this machine.
"""

from __future__ import annotations

import argparse
import math
import os
import signal
import time

from headrace.base.errors import KafkaError
from headrace.cli.failure import CommandFailedError, UsageError

_LOOK_SECONDS = 0.05


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        metavar="FILE",
        nargs="?",
        help="the server.properties file of the node; without it all nodes of this user stop"
        " that `server start` or `up` runs on this machine",
    )
    parser.add_argument(
        "--override",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="what the node was started with, if that says where its data is (repeatable)",
    )
    parser.add_argument(
        "--timeout",
        type=_seconds,
        default=60.0,
        metavar="SECONDS",
        help="how long to wait until the node has stopped (default: 60)",
    )


def stop(args: argparse.Namespace) -> int:
    if args.file is not None:
        return _stop_that_of_file(args)
    if args.override:
        raise UsageError("--override says where the node of a FILE has its data; name the file.")
    return _stop_all(args.timeout)


def _stop_all(timeout: float) -> int:
    from headrace.cli import server_processes

    if not server_processes.can_be_told():
        raise CommandFailedError(
            "This system does not tell which processes are nodes: name the file of the node."
        )
    nodes = server_processes.running_servers()
    if not nodes:
        raise CommandFailedError("No node of this user is running on this machine.")
    for node in nodes:
        _ask(node.directory, node.pid)
    for node in nodes:
        _wait(node.directory, node.pid, timeout)
        _tell_stopped(node.directory, node.pid)
    return 0


def _stop_that_of_file(args: argparse.Namespace) -> int:
    directories = _directories(args)
    directory = next(filter(_is_locked, directories), None)
    if directory is None:
        raise CommandFailedError(f"No node is running in {', '.join(directories)}.")
    pid = _process_of(directory)
    _ask(directory, pid)
    _wait(directory, pid, args.timeout)
    _tell_stopped(directory, pid)
    return 0


def _tell_stopped(directory: str, pid: int) -> None:
    print(f"The node of {directory} (process {pid}) has stopped.")


def _ask(directory: str, pid: int) -> None:
    try:
        os.kill(pid, signal.SIGTERM)
    except PermissionError:
        raise CommandFailedError(
            f"The node of {directory} is process {pid}, which this user may not stop."
        ) from None
    except ProcessLookupError:
        pass  # it ended by itself meanwhile


def _directories(args: argparse.Namespace) -> tuple[str, ...]:
    """Nothing else of the file counts: a bad edit must not keep a node from being stopped."""
    from headrace.server.config import data_directories
    from headrace.server.properties import load_properties

    try:
        given = load_properties(args.file, environment=os.environ, overrides=args.override)
        return data_directories(given.values)
    except (KafkaError, ValueError) as error:
        raise CommandFailedError(str(error)) from error


def _process_of(directory: str) -> int:
    from headrace.log.directory_lock import locked_by

    pid = locked_by(directory)
    if pid is None:
        raise CommandFailedError(
            f"A node is running in {directory}, but its process cannot be told from here:"
            " stop it where it was started."
        )
    return pid


def _wait(directory: str, pid: int, timeout: float) -> None:
    """Until the process has let go of the directory: one in its place is none of our concern."""
    from headrace.log.directory_lock import locked_by

    deadline = time.monotonic() + timeout
    while locked_by(directory) == pid and _is_locked(directory):
        if time.monotonic() > deadline:
            raise CommandFailedError(
                f"The node of {directory} (process {pid}) was asked to stop and has not done so"
                f" within {timeout:.0f} s."
            )
        time.sleep(_LOOK_SECONDS)


def _is_locked(directory: str) -> bool:
    from headrace.log.directory_lock import is_locked

    try:
        return is_locked(directory)
    except OSError as error:
        raise CommandFailedError(f"{error.filename}: {error.strerror}.") from error


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds < math.inf:
        raise argparse.ArgumentTypeError(f"a time to wait is a number of seconds, not '{text}'")
    return seconds
