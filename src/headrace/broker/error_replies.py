"""Turns a failed request into its API's own error response.

Every response class says where its error code lives: at the top, or once for each thing the
request named. Handlers answer per item themselves; this is for errors that concern all of it.
"""

from __future__ import annotations

from typing import Any

from headrace.base.errors import KafkaError
from headrace.broker.api_table import Api
from headrace.protocol.apis import ApiKey
from headrace.protocol.schema import Field, Request, Response, Struct

#: Responses without a top-level error: which list of the request is answered item by item in
#: which list of the response, and how the item's fields are called there.
_PER_ITEM: dict[ApiKey, tuple[str, str, dict[str, str]]] = {
    ApiKey.CREATE_TOPICS: ("topics", "topics", {"name": "name"}),
    ApiKey.DELETE_TOPICS: ("topics", "responses", {"name": "name", "topic_id": "topic_id"}),
    ApiKey.CREATE_PARTITIONS: ("topics", "results", {"name": "name"}),
    ApiKey.DESCRIBE_CONFIGS: (
        "resources",
        "results",
        {"resource_type": "resource_type", "resource_name": "resource_name"},
    ),
    ApiKey.ALTER_CONFIGS: (
        "resources",
        "responses",
        {"resource_type": "resource_type", "resource_name": "resource_name"},
    ),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: (
        "resources",
        "responses",
        {"resource_type": "resource_type", "resource_name": "resource_name"},
    ),
}


def error_response(api: Api, request: Request, error: KafkaError) -> Response:
    """The response that carries `error` for the whole request."""
    response = api.response()
    if "error_code" in response.fields:
        _set_error(response, error)
        return response
    per_item = _PER_ITEM.get(api.key)
    if per_item is not None:
        source, target, names = per_item
        item_class = _item_class(response.fields[target])
        items = []
        for asked in getattr(request, source):
            item = item_class(**{new: getattr(asked, old) for old, new in names.items()})
            _set_error(item, error)
            items.append(item)
        setattr(response, target, items)
        return response
    _fill_partitions(request, response, error)
    return response


def _set_error(target: Any, error: KafkaError) -> None:
    target.error_code = int(error.code)
    if "error_message" in target.fields:
        target.error_message = error.message or error.code.name


def _item_class(field: Field) -> type[Struct]:
    element = field.element
    assert element is not None  # noqa: S101 - narrows the type
    assert element.struct is not None  # noqa: S101 - narrows the type
    return element.struct


def _fill_partitions(request: Request, response: Response, error: KafkaError) -> None:
    """Topic by topic, partition by partition: Produce, ListOffsets, DeleteRecords and the like."""
    asked_topics = next((name for name in ("topic_data", "topics") if name in request.fields), None)
    answers = next((name for name in ("responses", "topics") if name in response.fields), None)
    if asked_topics is None or answers is None:
        return
    topic_class = _item_class(response.fields[answers])
    for asked in getattr(request, asked_topics):
        topic = topic_class()
        for name in ("name", "topic", "topic_id"):
            if name in topic.fields and name in asked.fields:
                setattr(topic, name, getattr(asked, name))
        _fill_indexes(asked, topic, error)
        getattr(response, answers).append(topic)


def _fill_indexes(asked: Any, topic: Any, error: KafkaError) -> None:
    source = next((n for n in ("partition_data", "partitions") if n in asked.fields), None)
    target = next((n for n in ("partition_responses", "partitions") if n in topic.fields), None)
    if source is None or target is None:
        return
    item_class = _item_class(topic.fields[target])
    for partition in getattr(asked, source):
        item: Any = item_class()
        for name in ("index", "partition_index", "partition"):
            if name in item.fields and name in partition.fields:
                setattr(item, name, getattr(partition, name))
        _set_error(item, error)
        getattr(topic, target).append(item)
