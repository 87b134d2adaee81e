"""Which entities of a kind a cluster has, for `headrace configs`."""

from __future__ import annotations

from headrace.base.errors import ErrorCode, KafkaError
from headrace.cli.config_entities import Entity
from headrace.cli.java_order import hash_order
from headrace.client.blocking import KafkaClient
from headrace.client.errors import raise_for_code
from headrace.client.metadata import ask_topics
from headrace.protocol.messages.list_config_resources import (
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)
from headrace.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse

#: Resource type, and the source of a setting that somebody made for just this entity.
RESOURCES = {
    "topics": (2, 1),
    "brokers": (4, 2),
    "broker-loggers": (8, 6),
    "client-metrics": (16, 7),
    "groups": (32, 8),
}


def expand(client: KafkaClient, wanted: Entity) -> list[Entity]:
    """The entity itself, or all of its type that there are."""
    if wanted.name is not None:
        return [wanted]
    if wanted.type == "brokers":
        ids = sorted(client.refresh().nodes)
        return [*(Entity("brokers", str(node)) for node in ids), Entity("brokers", "")]
    return [Entity(wanted.type, name) for name in _existing(client, wanted.type)]


def exists(client: KafkaClient, entity: Entity) -> bool:
    if not entity.name:
        return True
    if entity.type in ("brokers", "broker-loggers"):
        return int(entity.name) in client.refresh().nodes
    return entity.name in _existing(client, entity.type)


def _existing(client: KafkaClient, kind: str) -> list[str]:
    if kind == "topics":
        topics = client.retry(lambda: ask_topics(client.any_node(), None)).topics
        return hash_order(topic.name for topic in topics if topic.name is not None)
    names = _with_settings(client, RESOURCES[kind][0])
    return list(dict.fromkeys([*_group_names(client), *names])) if kind == "groups" else names


def _with_settings(client: KafkaClient, resource_type: int) -> list[str]:
    request = ListConfigResourcesRequest(resource_types=[resource_type])
    answer = client.admin(request, ListConfigResourcesResponse)
    return [
        row.resource_name for row in answer.config_resources if row.resource_type == resource_type
    ]


def _group_names(client: KafkaClient) -> list[str]:
    """The groups of all brokers; a broker without groups has none to tell."""
    names: dict[str, None] = {}
    for node in client.refresh().nodes:
        try:
            answer = client.node(node).call(ListGroupsRequest(), ListGroupsResponse)
        except KafkaError as error:
            if error.code is ErrorCode.UNSUPPORTED_VERSION:
                continue
            raise
        raise_for_code(answer.error_code)
        names |= dict.fromkeys(group.group_id for group in answer.groups)
    return hash_order(names)
