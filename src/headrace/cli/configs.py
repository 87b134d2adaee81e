"""`headrace configs`: Kafka's `kafka-configs.sh`."""

from __future__ import annotations

import argparse
import re

from headrace.base.errors import KafkaError
from headrace.cli.config_entities import (
    DEFAULT_FLAGS,
    FLAGS,
    QUOTA_TYPES,
    TYPES,
    Entity,
    parse_entities,
)
from headrace.cli.connecting import add_connection_arguments, open_client
from headrace.cli.failure import CommandFailedError, UsageError, describe
from headrace.cli.output import add_output_argument
from headrace.client.properties import read_properties

#: A comma or equals sign outside of square brackets.
_OUTSIDE = r"(?=[^\]]*(?:\[|$))"


class _Name(argparse.Action):
    """Keeps `--entity-name` and `--entity-default` in the order in which they were given."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        names = list(getattr(namespace, self.dest) or [])
        namespace.__setattr__(self.dest, [*names, "" if values == [] else values])


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_connection_arguments(parser, controllers=True)
    add_output_argument(parser)
    add = parser.add_argument
    add("--describe", action="store_true", help="show settings")
    add("--alter", action="store_true", help="change settings")
    add("--all", action="store_true", help="show also what nobody has set")
    add(
        "--add-config",
        metavar="NAME=VALUE,...",
        help="settings to set; square brackets around a value with commas: k1=v1,k2=[v1,v2]",
    )
    add("--add-config-file", metavar="FILE", help="properties file with settings to set")
    add(
        "--delete-config",
        action="append",
        metavar="NAME,...",
        help="settings to remove",
    )
    add("--entity-type", action="append", metavar="TYPE", help=f"one of {', '.join(TYPES)}")
    add("--entity-name", dest="names", action=_Name, metavar="NAME", help="its name or id")
    add("--entity-default", dest="names", action=_Name, nargs=0, help="the default of the type")
    for flag, kind in FLAGS.items():
        add(f"--{flag}", metavar="NAME", help=f"short for --entity-type {kind} --entity-name NAME")
    for flag, kind in DEFAULT_FLAGS.items():
        add(f"--{flag}", action="store_true", help=f"the default of {kind}")
    add("--force", action="store_true", help=argparse.SUPPRESS)


def run(args: argparse.Namespace) -> int:
    entities = parse_entities(args)
    check_action(args, entities)
    with open_client(args, "headrace-configs") as client:
        try:
            if entities[0].type in QUOTA_TYPES:
                from headrace.cli import configs_quotas as group
            else:
                from headrace.cli import configs_resources as group  # type: ignore[no-redef]
            if args.describe:
                group.describe(client, entities, args)
            else:
                group.alter(client, entities, parse_additions(args), parse_deletions(args))
                print(_completed(entities[0]))
        except KafkaError as error:
            raise CommandFailedError(
                f"Error while executing config command: {describe(error)}"
            ) from error
    return 0


def _completed(entity: Entity) -> str:
    if entity.name:
        return f"Completed updating config for {entity.singular} {entity.name}."
    return f"Completed updating default config for {entity.type} in the cluster."


def check_action(args: argparse.Namespace, entities: list[Entity]) -> None:
    if args.describe == args.alter:
        raise UsageError("Command must include exactly one action: --describe, --alter")
    types = ",".join(entity.type for entity in entities)
    has_name = any(entity.name for entity in entities)
    has_default = any(entity.name == "" for entity in entities)
    takes_default = any(entity.type in (*QUOTA_TYPES, "brokers") for entity in entities)
    if args.describe:
        if args.add_config or args.add_config_file or args.delete_config:
            raise UsageError('Option "[describe]" can\'t be used with options that change settings')
        if has_default and not takes_default:
            raise UsageError(f"--entity-default must not be specified with --describe of {types}")
        if entities[0].type == "broker-loggers" and not has_name:
            raise UsageError(f"An entity name must be specified with --describe of {types}")
        return
    if takes_default and not (has_name or has_default):
        raise UsageError(
            "An entity-name or default entity must be specified with --alter of users, clients,"
            " brokers or ips"
        )
    if not takes_default and not has_name:
        raise UsageError(f"An entity name must be specified with --alter of {types}")
    if any(entity.name is None for entity in entities):
        raise UsageError("An entity name must be specified for every entity type")
    if args.add_config and args.add_config_file:
        raise UsageError("Only one of --add-config or --add-config-file must be specified")
    if not (args.add_config or args.add_config_file or args.delete_config):
        raise UsageError(
            "At least one of --add-config, --add-config-file, or --delete-config must be"
            " specified with --alter"
        )


def parse_additions(args: argparse.Namespace) -> dict[str, str]:
    """The settings to set, from the option or the file."""
    settings = {}
    if args.add_config_file:
        try:
            settings = read_properties(args.add_config_file)
        except OSError as error:
            raise CommandFailedError(f"{args.add_config_file}: {error.strerror}") from error
    for pair in re.split("," + _OUTSIDE, args.add_config or ""):
        if not pair and not args.add_config:
            continue
        parts = re.split(r"\s*=\s*" + _OUTSIDE, pair)
        if len(parts) != 2:
            raise CommandFailedError(
                "requirement failed: Invalid entity config: all configs to be added must be in the"
                ' format "key=val" or  "key=[val1,val2]" to group values which contain commas.'
            )
        settings[parts[0].strip()] = re.sub(r"[\[\]]", "", parts[1]).strip()
    for name in settings:
        if not re.fullmatch("[a-zA-Z0-9._-]*", name):
            raise CommandFailedError(f"Invalid character found for config key: {name}")
    return settings


def parse_deletions(args: argparse.Namespace) -> list[str]:
    texts = args.delete_config or []
    return [name.strip() for text in texts for name in text.split(",") if name.strip()]
