"""What settings belong to: the entities that the options of `headrace configs` name."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from headrace.cli.failure import UsageError

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
FLAGS = {
    "topic": "topics",
    "client": "clients",
    "user": "users",
    "broker": "brokers",
    "broker-logger": "broker-loggers",
    "ip": "ips",
    "client-metrics": "client-metrics",
    "group": "groups",
}
DEFAULT_FLAGS = {
    "client-defaults": "clients",
    "user-defaults": "users",
    "broker-defaults": "brokers",
    "ip-defaults": "ips",
}


@dataclass(frozen=True, slots=True)
class Entity:
    """What a setting belongs to: no name means all of the type, an empty one their default."""

    type: str
    name: str | None

    @property
    def singular(self) -> str:
        return self.type.removesuffix("s")


def parse_entities(args: argparse.Namespace) -> list[Entity]:
    """One entity, or a user and a client; `UsageError` where the options make no sense."""
    flags = [(kind, _value(args, flag)) for flag, kind in FLAGS.items() if _value(args, flag)]
    flags += [(kind, "") for flag, kind in DEFAULT_FLAGS.items() if _value(args, flag)]
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
