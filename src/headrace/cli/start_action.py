"""The action `start FILE` that the servers among the tools share."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    Actions: TypeAlias = argparse._SubParsersAction[argparse.ArgumentParser]


def add_start(
    parser: argparse.ArgumentParser, what: str, file: str, *, needs_file: bool = True
) -> argparse.ArgumentParser:
    """Give a server that is called `what` and reads `file` the action `start`; its parser."""
    return add_start_to(add_actions(parser), what, file, needs_file=needs_file)


def add_actions(parser: argparse.ArgumentParser) -> Actions:
    return parser.add_subparsers(dest="action", metavar="ACTION", required=True)


def add_start_to(
    actions: Actions, what: str, file: str, *, needs_file: bool = True
) -> argparse.ArgumentParser:
    """`start` beside other actions."""
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
    # Kafka's script takes it; it must not be read as the name of a file, nor go unanswered.
    start.add_argument("-daemon", action=_RefuseDaemon, nargs=0, help=argparse.SUPPRESS)
    return start


class _RefuseDaemon(argparse.Action):
    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        parser.error(
            "it serves in the foreground and knows no -daemon; let a service manager start it, or"
            " `nohup` with `&`"
        )
