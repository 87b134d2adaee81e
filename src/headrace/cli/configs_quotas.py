"""`headrace configs` for users, clients and addresses: quotas, and SCRAM credentials of users."""

from __future__ import annotations

import argparse

from headrace.cli.config_entities import Entity
from headrace.cli.configs_scram import alter_credentials, ask_credentials
from headrace.cli.failure import CommandFailedError
from headrace.cli.java_order import hash_order
from headrace.cli.java_values import java_number
from headrace.cli.output import print_json, wants_json
from headrace.cli.scram import MECHANISMS
from headrace.client.blocking import KafkaClient
from headrace.client.errors import raise_for_code
from headrace.protocol.messages.describe_client_quotas import EntryData

_QUOTA_ENTITIES = {"users": "user", "clients": "client-id", "ips": "ip"}
_LABELS = {"user": "user-principal", "client-id": "client-id", "ip": "ip"}
_CLIENT_QUOTAS = (
    "producer_byte_rate",
    "consumer_byte_rate",
    "request_percentage",
    "controller_mutation_rate",
)
_IP_QUOTAS = ("connection_creation_rate",)
_EXACT, _DEFAULT, _ANY = 0, 1, 2


def describe(client: KafkaClient, entities: list[Entity], args: argparse.Namespace) -> None:
    entries = _ask_quotas(client, entities)
    credentials: list[tuple[str, list[tuple[str, int]]]] = []
    if entities[0].type == "users" and len(entities) == 1 and entities[0].name != "":
        credentials = ask_credentials(client, entities[0].name)
    if wants_json(args):
        print_json(
            {
                "quotas": [
                    {
                        "entity": {part.entity_type: part.entity_name for part in entry.entity},
                        "configs": {value.key: value.value for value in entry.values},
                    }
                    for entry in entries
                ],
                "scramCredentials": [{"user": user, **dict(rows)} for user, rows in credentials],
            }
        )
        return
    for entry in entries:
        print(quota_line(entry))
    for user, rows in credentials:
        text = ", ".join(f"{name}=iterations={iterations}" for name, iterations in rows)
        print(f"SCRAM credential configs for user-principal '{user}' are {text}")


def quota_line(entry: EntryData) -> str:
    names = {part.entity_type: part.entity_name for part in entry.entity}
    parts = []
    for kind, label in _LABELS.items():
        if kind in names:
            name = names[kind]
            parts.append(f"the default {label}" if name is None else f"{label} '{name}'")
    values = {value.key: value.value for value in entry.values}
    settings = ", ".join(
        f"{name}={java_number(values[name])}" for name in hash_order(values, capacity=len(values))
    )
    return f"Quota configs for {', '.join(parts)} are {settings}"


def alter(
    client: KafkaClient, entities: list[Entity], additions: dict[str, str], deletions: list[str]
) -> None:
    scram = {name: text for name, text in additions.items() if name in MECHANISMS}
    removed_scram = [name for name in deletions if name in MECHANISMS]
    quotas = {name: text for name, text in additions.items() if name not in MECHANISMS}
    removed = [name for name in deletions if name not in MECHANISMS]
    _check_names(entities, quotas, bool(scram or removed_scram))
    if quotas or removed:
        _alter_quotas(client, entities, quotas, removed)
    if scram or removed_scram:
        alter_credentials(client, entities[0].name or "", scram, removed_scram)


def _check_names(entities: list[Entity], quotas: dict[str, str], has_scram: bool) -> None:
    kind = entities[0].type
    known = _IP_QUOTAS if kind == "ips" else _CLIENT_QUOTAS
    unknown = [name for name in quotas if name not in known]
    if unknown:
        what = "connection quota" if kind == "ips" else "quota"
        raise CommandFailedError(
            f"Only {what} configs can be added for '{kind}' using --bootstrap-server."
            f" Unexpected config names: Set({', '.join(unknown)})"
        )
    if has_scram and (len(entities) > 1 or kind != "users" or not entities[0].name):
        raise CommandFailedError("SCRAM credentials belong to one user: give --user NAME alone.")


# -------------------------------------------------------------------- quotas


def _ask_quotas(client: KafkaClient, entities: list[Entity]) -> list[EntryData]:
    from headrace.protocol.messages.describe_client_quotas import (
        ComponentData,
        DescribeClientQuotasRequest,
        DescribeClientQuotasResponse,
    )

    components = []
    for entity in entities:
        match_type = _ANY if entity.name is None else _EXACT if entity.name else _DEFAULT
        components.append(
            ComponentData(
                entity_type=_QUOTA_ENTITIES[entity.type],
                match_type=match_type,
                match=entity.name or None,
            )
        )
    request = DescribeClientQuotasRequest(components=components, strict=True)
    return client.admin(request, DescribeClientQuotasResponse).entries or []


def _alter_quotas(
    client: KafkaClient, entities: list[Entity], quotas: dict[str, str], removed: list[str]
) -> None:
    from headrace.protocol.messages.alter_client_quotas import (
        AlterClientQuotasRequest,
        AlterClientQuotasResponse,
        EntityData,
        EntryData,
        OpData,
    )

    known = {value.key for entry in _ask_quotas(client, entities) for value in entry.values}
    unknown = [name for name in removed if name not in known]
    if unknown:
        raise CommandFailedError(f"Invalid config(s): {','.join(unknown)}")
    changes = [OpData(key=name, value=_number(name, text)) for name, text in quotas.items()]
    changes += [OpData(key=name, remove=True) for name in removed]
    entity = [
        EntityData(entity_type=_QUOTA_ENTITIES[part.type], entity_name=part.name or None)
        for part in entities
    ]

    def check(response: AlterClientQuotasResponse) -> None:
        for row in response.entries:
            raise_for_code(row.error_code, row.error_message)

    request = AlterClientQuotasRequest(entries=[EntryData(entity=entity, ops=changes)])
    client.admin(request, AlterClientQuotasResponse, check=check)


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise CommandFailedError(
            f"Cannot parse quota configuration value for {name}: {text}"
        ) from None
