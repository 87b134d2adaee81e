"""`headrace server stop FILE`: ask the node of a server.properties file to end, and wait for it."""

from __future__ import annotations

import argparse
import math
import os
import signal
import time

from headrace.base.errors import KafkaError
from headrace.cli.failure import CommandFailedError

_LOOK_SECONDS = 0.05


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the server.properties file of the node")
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
    directories = _directories(args)
    directory = next(filter(_is_locked, directories), None)
    if directory is None:
        raise CommandFailedError(f"No node is running in {', '.join(directories)}.")
    pid = _process_of(directory)
    try:
        os.kill(pid, signal.SIGTERM)
    except PermissionError:
        raise CommandFailedError(
            f"The node of {directory} is process {pid}, which this user may not stop."
        ) from None
    except ProcessLookupError:
        pass  # it ended by itself meanwhile
    _wait(directory, pid, args.timeout)
    print(f"The node of {directory} (process {pid}) has stopped.")
    return 0


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
    seconds = float(text)
    if not 0 <= seconds < math.inf:
        raise ValueError
    return seconds
