"""The arguments of `headrace e2e-latency` without names, which Kafka still takes with a warning."""

from __future__ import annotations

import argparse
import sys

from headrace.cli.failure import UsageError
from headrace.cli.output import wants_json

_REQUIRED = ("--topic", "--num-records", "--producer-acks", "--record-size")
#: What they stand for, in their order.
BY_POSITION = ("--bootstrap-server", *_REQUIRED, "--command-config")


def take_positions(args: argparse.Namespace) -> None:
    """Arguments without names, as the tool took them before Kafka 4.2, become those with names."""
    named = [option for option in _REQUIRED if getattr(args, _attribute(option)) is not None]
    if args.by_position and not named:
        if not 5 <= len(args.by_position) <= 6:
            raise UsageError(
                "Invalid number of arguments. Expected 5 or 6 positional arguments, but got"
                f" {len(args.by_position)}. Usage: bootstrap-server topic num-records producer-acks"
                " record-size [optional] command-config"
            )
        say(
            args,
            "WARNING: Positional argument usage is deprecated and will be removed in Apache Kafka"
            f" 5.0. Please use named arguments instead: {', '.join(BY_POSITION)}",
        )
        for option, text in zip(BY_POSITION, args.by_position, strict=False):
            setattr(args, _attribute(option), _parsed(option, text))
        return
    missing = [option for option in _REQUIRED if option not in named]
    if missing:
        raise UsageError(f"Missing required argument: {', '.join(missing)}.")
    if args.by_position:
        raise UsageError(f"Unrecognized arguments: {' '.join(args.by_position)}.")


def _attribute(option: str) -> str:
    return option.removeprefix("--").replace("-", "_")


def _parsed(option: str, text: str) -> str | int:
    if option == "--producer-acks" and text not in ("1", "all"):
        raise UsageError(
            "Invalid value for --producer-acks. Latency testing requires synchronous"
            " acknowledgement. Please use '1' or 'all'."
        )
    if option not in ("--num-records", "--record-size"):
        return text
    if not text.isdecimal():
        raise UsageError(f"The value of {option} is a number, not {text}.")
    return int(text)


def say(args: argparse.Namespace, sentence: str) -> None:
    """Kafka's tool tells it among its results; a program that reads those wants nothing else."""
    print(sentence, file=sys.stderr if wants_json(args) else sys.stdout, flush=True)
