"""Turns a failed request into its API's own error response.

Every response class says where its error code lives: at the top, or once for each thing the
request named. Handlers answer per item themselves; this is for errors that concern all of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace.base.errors import KafkaError
from headrace.broker.api_table import Api
from headrace.broker.parked import Close
from headrace.protocol.apis import ApiKey
from headrace.protocol.schema import Field, Request, Response, Struct

#: Responses without an error at the top: the list of the request that is answered item by item
#: in a list of the response.
_PER_ITEM: dict[ApiKey, tuple[str, str]] = {
    ApiKey.METADATA: ("topics", "topics"),
    ApiKey.CREATE_TOPICS: ("topics", "topics"),
    ApiKey.DELETE_TOPICS: ("topics", "responses"),
    ApiKey.CREATE_PARTITIONS: ("topics", "results"),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: ("topics", "topics"),
    ApiKey.DESCRIBE_CONFIGS: ("resources", "results"),
    ApiKey.ALTER_CONFIGS: ("resources", "responses"),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: ("resources", "responses"),
}
#: What says which item an answer is about.
_NAMES = ("name", "topic", "topic_id", "resource_type", "resource_name")
#: What a request and a response call a partition, a list of topics, a list of partitions.
_INDEXES = ("index", "partition_index", "partition")
_ASKED_TOPICS = ("topic_data", "topics")
_ANSWERED_TOPICS = ("responses", "topics")
_ASKED_PARTITIONS = ("partition_data", "partitions", "partition_indexes")
_ANSWERED_PARTITIONS = ("partition_responses", "partitions")


def error_response(api: Api, version: int, request: Request, error: KafkaError) -> Response | Close:
    """The response that carries `error` for the whole request."""
    if api.key == ApiKey.PRODUCE and getattr(request, "acks", 1) == 0:
        # Nobody reads an answer to acks=0; a closed connection makes the client look again.
        return Close(f"produce with acks=0 failed: {error.code.name}")
    response = api.response()
    top = response.fields.get("error_code")
    if top is not None:
        _set_error(response, error)
        if version in top.versions:
            return response
    per_item = _PER_ITEM.get(api.key)
    if per_item is not None:
        _fill_items(version, request, response, per_item, error)
    else:
        _fill_topics(request, response, error)
    return response


def _set_error(target: Any, error: KafkaError) -> None:
    target.error_code = int(error.code)
    if "error_message" in target.fields:
        target.error_message = error.message or error.code.name


def _fill_items(
    version: int, request: Request, response: Response, lists: tuple[str, str], error: KafkaError
) -> None:
    asked_items: Iterable[Any] = getattr(request, lists[0]) or ()
    item_class = _item_class(response.fields[lists[1]])
    items = [_named(item_class(), asked, version) for asked in asked_items]
    # The topics of DeleteTopics were plain names before version 6.
    items += [item_class(name=name) for name in getattr(request, "topic_names", ())]
    for item in items:
        _set_error(item, error)
    setattr(response, lists[1], items)


def _named(item: Any, asked: Any, version: int) -> Any:
    """Say in an answer which of the asked things it is about."""
    for name in _NAMES:
        if name in item.fields and name in asked.fields:
            value = getattr(asked, name)
            if value is None and version not in item.fields[name].nullable:
                value = ""
            setattr(item, name, value)
    return item


def _fill_topics(request: Request, response: Response, error: KafkaError) -> None:
    """Topic by topic, partition by partition: Produce, ListOffsets, DeleteRecords and the like."""
    source = _first(_ASKED_TOPICS, request)
    target = _first(_ANSWERED_TOPICS, response)
    if source is None or target is None:
        return
    topic_class = _item_class(response.fields[target])
    topics = getattr(response, target)
    for asked in getattr(request, source) or ():
        topic = _named(topic_class(), asked, 0)
        topics.append(topic)
        _fill_partitions(asked, topic, error)


def _fill_partitions(asked: Any, topic: Any, error: KafkaError) -> None:
    source = _first(_ASKED_PARTITIONS, asked)
    target = _first(_ANSWERED_PARTITIONS, topic)
    if source is None or target is None:
        return
    item_class = _item_class(topic.fields[target])
    partitions = getattr(topic, target)
    for one in getattr(asked, source):
        item: Any = item_class()
        index = one if isinstance(one, int) else getattr(one, _first(_INDEXES, one) or "")
        setattr(item, _first(_INDEXES, item) or "", index)
        _set_error(item, error)
        partitions.append(item)


def _first(names: tuple[str, ...], struct: Struct) -> str | None:
    return next((name for name in names if name in struct.fields), None)


def _item_class(field: Field) -> type[Struct]:
    element = field.element
    assert element is not None  # noqa: S101 - narrows the type
    assert element.struct is not None  # noqa: S101 - narrows the type
    return element.struct
