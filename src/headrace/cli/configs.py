"""`headrace configs`: Kafka's `kafka-configs.sh`."""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass

from headrace.base.errors import KafkaError
from headrace.cli.connecting import add_connection_arguments, open_client
from headrace.cli.failure import CommandFailedError, UsageError, describe
from headrace.cli.output import add_output_argument
from headrace.client.properties import read_properties

TYPES = (
    "topics",
    "clients",
    "users",
    "brokers",
    "ips",
    "client-metrics",
    "groups",
    "broker-loggers",
)
QUOTA_TYPES = ("users", "clients", "ips")
#: The short forms, in the order in which Kafka looks at them.
_FLAGS = {
    "topic": "topics",
    "client": "clients",
    "user": "users",
    "broker": "brokers",
    "broker-logger": "broker-loggers",
    "ip": "ips",
    "client-metrics": "client-metrics",
    "group": "groups",
}
_DEFAULT_FLAGS = {
    "client-defaults": "clients",
    "user-defaults": "users",
    "broker-defaults": "brokers",
    "ip-defaults": "ips",
}
#: A comma or equals sign outside of square brackets.
_OUTSIDE = r"(?=[^\]]*(?:\[|$))"


@dataclass(frozen=True, slots=True)
class Entity:
    """What a setting belongs to: no name means all of the type, an empty one their default."""

    type: str
    name: str | None

    @property
    def singular(self) -> str:
        return self.type.removesuffix("s")


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
    for flag, kind in _FLAGS.items():
        add(f"--{flag}", metavar="NAME", help=f"short for --entity-type {kind} --entity-name NAME")
    for flag, kind in _DEFAULT_FLAGS.items():
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


def parse_entities(args: argparse.Namespace) -> list[Entity]:
    """One entity, or a user and a client; `UsageError` where the options make no sense."""
    flags = [(kind, _value(args, flag)) for flag, kind in _FLAGS.items() if _value(args, flag)]
    flags += [(kind, "") for flag, kind in _DEFAULT_FLAGS.items() if _value(args, flag)]
    types = [*(args.entity_type or []), *(kind for kind, _ in flags)]
    names = [*(args.names or []), *(name for _, name in flags)]
    _check_types(types)
    if flags and (args.entity_type or args.names):
        raise UsageError(
            "--entity-{type,name,default} should not be used in conjunction with specific"
            " entity flags"
        )
    if len(names) > len(types):
        raise UsageError("More entity names specified than entity types")
    entities = [
        Entity(kind, names[position] if position < len(names) else None)
        for position, kind in enumerate(types)
    ]
    for entity in entities:
        if entity.type in ("brokers", "broker-loggers") and entity.name:
            _check_broker_id(entity)
    return entities


def _check_types(types: list[str]) -> None:
    for kind in types:
        if kind not in TYPES:
            raise UsageError(
                f"Invalid entity type {kind}, the entity type must be one of {', '.join(TYPES)}"
                " with a --bootstrap-server or --bootstrap-controller argument"
            )
    repeated = [kind for position, kind in enumerate(types) if kind in types[:position]]
    if repeated:
        raise UsageError(f"Duplicate entity type(s) specified: {','.join(repeated)}")
    if not types:
        raise UsageError("At least one entity type must be specified")
    if len(types) > 1 and set(types) != {"users", "clients"}:
        raise UsageError("Only 'users' and 'clients' entity types may be specified together")


def _check_broker_id(entity: Entity) -> None:
    if not (entity.name or "").isdecimal():
        raise UsageError(
            f"The entity name for {entity.type} must be a valid integer broker id,"
            f" but it is: {entity.name}"
        )


def _value(args: argparse.Namespace, flag: str) -> str:
    return getattr(args, flag.replace("-", "_")) or ""


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
