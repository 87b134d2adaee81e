"""`headrace NAME ...`: finds the tool, imports only its module, and reports failures.

Start-up time is a feature, so nothing is imported here that listing topics does not need.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import NoReturn, Protocol, cast

from headrace.base.platforms import what_to_do_here
from headrace.cli.tools import THEMES, Tool, find_command, plain_name

EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141


class ToolModule(Protocol):
    """What the module of each tool offers."""

    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


def main(argv: Sequence[str] | None = None) -> int:
    """The entry point of the `headrace` command; returns the exit code."""
    if elsewhere := what_to_do_here():
        print(elsewhere, file=sys.stderr)
        return 1
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        code = _dispatch(arguments)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output is gone; the interpreter must not try to flush it again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_BROKEN_PIPE


def _dispatch(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(overview())
        return 0
    if arguments[0] in ("-V", "--version", "version"):
        print(version_line())
        return 0
    command = find_command(arguments[0])
    if command is None:
        return _without_tool(arguments[0])
    tool, implied = command
    return run_tool(tool, [*implied, *arguments[1:]])


def run_tool(tool: Tool, arguments: list[str]) -> int:
    """Parse a tool's arguments and run it; every expected failure becomes one sentence."""
    module = load(tool)
    args = build_parser(tool, module).parse_args(arguments)
    try:
        return module.run(args)
    except (KeyboardInterrupt, BrokenPipeError, SystemExit):
        raise
    except Exception as error:  # noqa: BLE001 - the edge: nothing but a sentence leaves it
        return _report(tool, error)


def load(tool: Tool) -> ToolModule:
    return cast(ToolModule, import_module(f"headrace.cli.{tool.module}"))


def build_parser(tool: Tool, module: ToolModule) -> argparse.ArgumentParser:
    """The parser of one tool, with what all tools have."""
    parser = ToolParser(
        prog=f"headrace {tool.name}",
        description=f"{tool.summary[0].upper()}{tool.summary[1:]}.",
        formatter_class=HelpFormatter,
    )
    parser.add_argument("--version", action="version", version=version_line())
    module.add_arguments(parser)
    return parser


class ToolParser(argparse.ArgumentParser):
    """Says what is wrong in one sentence; the usage of most tools would fill the screen."""

    def error(self, message: str) -> NoReturn:
        sentence = f"{self.prog}: {message}.{self._hint(message)}"
        self.exit(2, f"{sentence}\nType `{self.prog} --help` for the options.\n")

    def _hint(self, message: str) -> str:
        from difflib import get_close_matches

        words = message.partition("unrecognized arguments: ")[2].split()
        known = list(self._option_string_actions)
        close = get_close_matches(words[0].partition("=")[0], known, 1) if words else []
        return f" Did you mean {close[0]}?" if close else ""


class HelpFormatter(argparse.HelpFormatter):
    """Room for Kafka's long option names."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=36)


def overview() -> str:
    """What `headrace --help` prints."""
    lines = ["usage: headrace NAME [options]", ""]
    lines.append(
        "Event streaming in Python: a broker that speaks Kafka's protocol, and Kafka's tools."
    )
    for theme, tools in THEMES.items():
        lines += ["", f"{theme}:"]
        lines += [f"  {tool.name:<20} {tool.summary}" for tool in tools]
    lines += [
        "",
        "`headrace NAME --help` tells the options of a tool; they are those of kafka-NAME.sh.",
    ]
    return "\n".join(lines)


def version_line() -> str:
    from headrace import __version__

    return f"headrace {__version__} (Kafka 4.3)"


def _without_tool(name: str) -> int:
    from headrace.cli.absent_tools import why_absent

    absent = why_absent(plain_name(name))
    print(absent or _unknown(name), file=sys.stderr)
    return 1 if absent else 2


def _unknown(name: str) -> str:
    from difflib import get_close_matches

    names = [tool.name for tools in THEMES.values() for tool in tools]
    close = get_close_matches(name, names, 1)
    hint = f" Did you mean {close[0]}?" if close else ""
    return f"headrace: there is no tool named {name!r}.{hint} `headrace --help` lists them."


def _report(tool: Tool, error: Exception) -> int:
    """Print one sentence for a failure and return the exit code."""
    if os.environ.get("HEADRACE_DEBUG"):
        import traceback

        traceback.print_exception(error)
    sys.stdout.flush()
    from headrace.cli.failure import CommandFailedError, UsageError, describe

    if isinstance(error, UsageError):
        print(f"headrace {tool.name}: {error}", file=sys.stderr)
        print(f"Type `headrace {tool.name} --help` for the options.", file=sys.stderr)
        return UsageError.exit_code
    if isinstance(error, CommandFailedError):
        print(error, file=sys.stderr)
        return error.exit_code
    print(_sentence(error, describe), file=sys.stderr)
    return 1


def _sentence(error: Exception, describe: Callable[..., str]) -> str:
    from struct import error as StructError

    from headrace.base.errors import KafkaError
    from headrace.cli.failure import said_by_librdkafka

    if isinstance(error, KafkaError):
        return describe(error)
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror or error}"
    if isinstance(error, ValueError):
        return str(error)
    if isinstance(error, OverflowError | StructError):
        return f"A number is out of the range that Kafka has for it ({error})."
    if (said := said_by_librdkafka(error)) is not None:
        return said
    return f"Unexpected {type(error).__name__}: {error} (HEADRACE_DEBUG=1 shows where)"


if __name__ == "__main__":
    sys.exit(main())
