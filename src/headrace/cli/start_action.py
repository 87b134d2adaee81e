"""The action `start FILE` that the servers among the tools share."""

from __future__ import annotations

import argparse


def add_start(
    parser: argparse.ArgumentParser, what: str, file: str, *, needs_file: bool = True
) -> argparse.ArgumentParser:
    """Add `start`, for a server that is called `what` and reads `file`; returns its parser."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    start = actions.add_parser("start", help=f"start {what} and serve until it is stopped")
    start.add_argument(
        "file", metavar="FILE", nargs=None if needs_file else "?", help=f"the {file} file"
    )
    start.add_argument(
        "--override",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="a property that takes precedence over the file; may be given several times",
    )
    start.add_argument(
        "--log-level", default="INFO", help="DEBUG, INFO, WARNING or ERROR (default: INFO)"
    )
    return start
