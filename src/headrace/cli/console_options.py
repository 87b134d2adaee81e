"""What the options of `headrace console-consumer` mean, and which go together."""

from __future__ import annotations

import argparse
import re

from headrace.cli.connecting import (
    add_bootstrap_server,
    parse_property_options,
    read_command_config,
)
from headrace.cli.consumer_settings import checked_settings, parse_reset
from headrace.cli.failure import CommandFailedError, UsageError
from headrace.cli.output import add_output_argument
from headrace.client.offsets import EARLIEST, LATEST
from headrace.client.resetting import ResetPolicy

_DEFAULT_FORMATTER = "org.apache.kafka.tools.consumer.DefaultMessageFormatter"
#: Java's long, and how many digits it has.
_LONG_MAX, _LONG_DIGITS = (1 << 63) - 1, 19
_RESETS = {"earliest": EARLIEST, "latest": LATEST}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_bootstrap_server(parser)
    add_output_argument(parser)
    add = parser.add_argument
    add("--topic", help="the topic to read")
    add("--include", metavar="REGEX", help="read all topics whose names match")
    add("--partition", type=int, help="read this partition only, from its end or --offset")
    add("--offset", help="where to begin: a number, earliest or latest (with --partition)")
    add("--from-beginning", action="store_true", help="begin with the oldest record")
    add("--max-messages", type=int, metavar="N", help="end after so many records")
    add("--timeout-ms", type=int, metavar="MS", help="end when no record came for so long")
    add(
        "--isolation-level",
        metavar="LEVEL",
        help="read_committed leaves out aborted transactions (default: read_uncommitted)",
    )
    add("--skip-message-on-error", action="store_true", help="go on after a bad record")
    add("--group", help="join this group of consumers, and commit what is printed")
    add("--enable-systest-events", action="store_true", help="say shutdown_complete at the end")
    add("--formatter", default=_DEFAULT_FORMATTER, metavar="CLASS", help="how to print records")
    add(
        "--formatter-property",
        "--property",
        action="append",
        metavar="NAME=VALUE",
        help="print.key, print.value, print.timestamp, print.offset, print.partition,"
        " print.headers, print.epoch, key.separator, line.separator, headers.separator,"
        " null.literal, key.deserializer, value.deserializer, headers.deserializer",
    )
    add("--formatter-config", metavar="FILE", help="properties file of the formatter")
    add("--key-deserializer", metavar="CLASS", help="Kafka's class name, for numbers and UUIDs")
    add("--value-deserializer", metavar="CLASS", help="likewise")
    add(
        "--command-property",
        "--consumer-property",
        action="append",
        metavar="NAME=VALUE",
        help="a consumer setting",
    )
    add("--command-config", "--consumer.config", metavar="FILE", help="properties file")


def check_arguments(args: argparse.Namespace) -> None:
    if (args.topic is None) == (args.include is None):
        raise UsageError("Exactly one of --include/--topic is required.")
    if args.partition is not None:
        if args.topic is None:
            raise UsageError("The topic is required when partition is specified.")
        if args.from_beginning and args.offset is not None:
            raise UsageError("Options from-beginning and offset cannot be specified together.")
    elif args.offset is not None:
        raise UsageError("The partition is required when offset is specified.")
    if args.offset is not None:
        parse_offset(args.offset)
    if args.include is not None:
        try:
            re.compile(args.include)
        except re.error as error:
            raise UsageError(f"{args.include} is an invalid regex ({error}).") from error


def parse_offset(text: str) -> int:
    """`earliest`, `latest`, or the offset itself."""
    if text.lower() in _RESETS:
        return _RESETS[text.lower()]
    if not text.isdecimal() or len(text) > _LONG_DIGITS or int(text) > _LONG_MAX:
        raise UsageError(
            f"The provided offset value '{text}' is incorrect. Valid values are"
            " 'earliest', 'latest', or a non-negative long."
        )
    return int(text)


def group_id(args: argparse.Namespace, settings: dict[str, str]) -> str | None:
    """The group to join, from the option or the settings, which must not contradict it."""
    named = settings.get("group.id")
    if args.group is not None and named is not None and named != args.group:
        raise UsageError("Two different group ids are given: --group and group.id differ.")
    group: str | None = args.group or named
    if group is not None and args.partition is not None:
        raise UsageError("Options group and partition cannot be specified together.")
    return group


def consumer_settings(args: argparse.Namespace) -> dict[str, str]:
    """Kafka's order: the option for a setting, then properties, then the file."""
    settings = read_command_config(args.command_config)
    settings |= parse_property_options(args.command_property)
    if args.isolation_level is not None:
        settings["isolation.level"] = args.isolation_level
    return checked_settings(settings)


def reset_policy(args: argparse.Namespace, settings: dict[str, str]) -> ResetPolicy:
    policy = settings.get("auto.offset.reset")
    if policy is None:
        return EARLIEST if args.from_beginning else LATEST
    if args.from_beginning and policy != "earliest":
        raise CommandFailedError(
            f"Can't simultaneously specify --from-beginning and 'auto.offset.reset={policy}',"
            " please remove one option"
        )
    return parse_reset("auto.offset.reset", policy)


def formatter_properties(args: argparse.Namespace) -> dict[str, str]:
    properties = read_command_config(args.formatter_config)
    for name in ("key", "value"):
        given = getattr(args, f"{name}_deserializer")
        if given:
            properties[f"{name}.deserializer"] = given
    return properties | parse_property_options(args.formatter_property)
