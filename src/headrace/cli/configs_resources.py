"""`headrace configs` for what DescribeConfigs knows: topics, brokers, groups and their like."""

from __future__ import annotations

import argparse

from headrace.cli.config_entities import Entity
from headrace.cli.config_listing import RESOURCES, exists, expand
from headrace.cli.failure import CommandFailedError
from headrace.cli.output import print_json, wants_json
from headrace.client.blocking import KafkaClient
from headrace.client.connection import BlockingConnection
from headrace.client.errors import raise_for_code
from headrace.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
)

_DYNAMIC_DEFAULT_BROKER_CONFIG = 3
_SOURCES = (
    "UNKNOWN",
    "DYNAMIC_TOPIC_CONFIG",
    "DYNAMIC_BROKER_CONFIG",
    "DYNAMIC_DEFAULT_BROKER_CONFIG",
    "STATIC_BROKER_CONFIG",
    "DEFAULT_CONFIG",
    "DYNAMIC_BROKER_LOGGER_CONFIG",
    "DYNAMIC_CLIENT_METRICS_CONFIG",
    "DYNAMIC_GROUP_CONFIG",
)
_SET, _DELETE = 0, 1


def describe(client: KafkaClient, entities: list[Entity], args: argparse.Namespace) -> None:
    wanted = entities[0]
    document = []
    for entity in expand(client, wanted):
        if wanted.name and not exists(client, entity):
            print(
                f"The {entity.singular} '{entity.name}' doesn't exist and doesn't have"
                " dynamic config."
            )
            continue
        rows = _ask(client, entity)
        if not args.all:
            rows = [row for row in rows if _is_dynamic(entity, row)]
        document.append({"type": entity.type, "name": entity.name, "configs": _as_json(rows)})
        if not wants_json(args):
            print(_title(entity, everything=args.all))
            for row in rows:
                print(setting_line(row))
    if wants_json(args):
        print_json({"entities": document})


def alter(
    client: KafkaClient, entities: list[Entity], additions: dict[str, str], deletions: list[str]
) -> None:
    from headrace.protocol.messages.incremental_alter_configs import (
        AlterableConfig,
        AlterConfigsResource,
        IncrementalAlterConfigsRequest,
        IncrementalAlterConfigsResponse,
    )

    entity = entities[0]
    if entity.type == "broker-loggers":
        known = {row.name for row in _ask(client, entity)}
        unknown = [name for name in (*deletions, *additions) if name not in known]
        if unknown:
            raise CommandFailedError(f"Invalid broker logger(s): {','.join(unknown)}")
    changes = [
        AlterableConfig(name=name, config_operation=_SET, value=value)
        for name, value in additions.items()
    ]
    changes += [
        AlterableConfig(name=name, config_operation=_DELETE, value="") for name in deletions
    ]
    request = IncrementalAlterConfigsRequest(
        resources=[
            AlterConfigsResource(
                resource_type=RESOURCES[entity.type][0],
                resource_name=entity.name or "",
                configs=changes,
            )
        ]
    )

    def attempt() -> None:
        answer = _node_for(client, entity).call(request, IncrementalAlterConfigsResponse)
        for row in answer.responses:
            raise_for_code(row.error_code, row.error_message)

    client.retry(attempt)


# -------------------------------------------------------------------- printing


def _title(entity: Entity, *, everything: bool) -> str:
    if entity.type == "brokers" and entity.name == "":
        return "Default configs for brokers in the cluster are:"
    return f"{'All' if everything else 'Dynamic'} configs for {entity.singular} {entity.name} are:"


def setting_line(row: DescribeConfigsResourceResult) -> str:
    synonyms = ", ".join(
        f"{_source(synonym.source)}:{synonym.name}={_text(synonym.value)}"
        for synonym in row.synonyms
    )
    sensitive = str(row.is_sensitive).lower()
    return f"  {row.name}={_text(row.value)} sensitive={sensitive} synonyms={{{synonyms}}}"


def _text(value: str | None) -> str:
    return "null" if value is None else value


def _source(number: int) -> str:
    return _SOURCES[number] if 0 <= number < len(_SOURCES) else _SOURCES[0]


def _as_json(rows: list[DescribeConfigsResourceResult]) -> list[dict[str, object]]:
    return [
        {
            "name": row.name,
            "value": row.value,
            "source": _source(row.config_source),
            "sensitive": row.is_sensitive,
            "readOnly": row.read_only,
        }
        for row in rows
    ]


# -------------------------------------------------------------------- asking


def _ask(client: KafkaClient, entity: Entity) -> list[DescribeConfigsResourceResult]:
    """All settings of an entity, sorted by name."""
    request = DescribeConfigsRequest(
        resources=[
            DescribeConfigsResource(
                resource_type=RESOURCES[entity.type][0],
                resource_name=entity.name or "",
                configuration_keys=None,
            )
        ],
        include_synonyms=True,
    )

    def attempt() -> list[DescribeConfigsResourceResult]:
        answer = _node_for(client, entity).call(request, DescribeConfigsResponse)
        for result in answer.results:
            raise_for_code(result.error_code, result.error_message)
        return [row for result in answer.results for row in result.configs]

    return sorted(client.retry(attempt), key=lambda row: row.name)


def _node_for(client: KafkaClient, entity: Entity) -> BlockingConnection:
    """A broker knows its own settings best; everything else any node can tell."""
    if entity.type in ("brokers", "broker-loggers") and entity.name:
        return client.node(int(entity.name))
    return client.admin_node()


def _is_dynamic(entity: Entity, row: DescribeConfigsResourceResult) -> bool:
    if entity.type == "broker-loggers":
        return True
    if entity.type == "brokers" and entity.name == "":
        return row.config_source == _DYNAMIC_DEFAULT_BROKER_CONFIG
    return row.config_source == RESOURCES[entity.type][1]
