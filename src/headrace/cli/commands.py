"""`headrace commands`: the whole command line as data, for completion, documents and programs."""

from __future__ import annotations

import argparse
from typing import Any

from headrace.cli.main import build_parser, load, overview, version_line
from headrace.cli.output import add_output_argument, print_json, wants_json
from headrace.cli.tools import THEMES


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_output_argument(parser)


def run(args: argparse.Namespace) -> int:
    if not wants_json(args):
        print(overview())
        return 0
    commands = []
    for theme, tools in THEMES.items():
        for tool in tools:
            parser = build_parser(tool, load(tool))
            entry = {"name": tool.name, "theme": theme, "summary": tool.summary}
            commands.append({**entry, **describe_parser(parser)})
    print_json({"program": "headrace", "version": version_line(), "commands": commands})
    return 0


def describe_parser(parser: argparse.ArgumentParser) -> dict[str, Any]:
    """The options and subcommands of a parser."""
    options: list[dict[str, Any]] = []
    arguments: list[dict[str, Any]] = []
    commands: list[dict[str, Any]] = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            summaries = {choice.dest: choice.help for choice in action._choices_actions}
            for name, nested in action.choices.items():
                entry = {"name": name, "summary": summaries.get(name)}
                commands.append({**entry, **describe_parser(nested)})
        elif action.help != argparse.SUPPRESS:
            (options if action.option_strings else arguments).append(_describe_action(action))
    return {"options": options, "arguments": arguments, "commands": commands}


def _describe_action(action: argparse.Action) -> dict[str, Any]:
    takes_value = action.nargs != 0
    metavar = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    entry: dict[str, Any] = {"flags": action.option_strings, "help": action.help}
    if not action.option_strings:
        entry = {"name": metavar, "help": action.help}
    entry["required"] = action.required
    entry["value"] = metavar if takes_value else None
    if action.choices is not None:
        entry["choices"] = list(action.choices)
    if takes_value and isinstance(action.default, str | int | float):
        entry["default"] = action.default
    is_repeated = isinstance(action, argparse._AppendAction | argparse._ExtendAction)
    return {**entry, "repeatable": is_repeated}
