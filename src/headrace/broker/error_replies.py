"""Turns a failed request into its API's own error response.

Every response class says where its error code lives: at the top, or once for each thing the
request named. Handlers answer per item themselves; this is for errors that concern all of it.
"""

from __future__ import annotations

from typing import Any

from headrace.base.errors import KafkaError
from headrace.broker.api_table import Api
from headrace.broker.parked import Close
from headrace.protocol.apis import ApiKey
from headrace.protocol.schema import Field, Request, Response, Struct

#: Responses without an error at the top, at least in some versions: which list of the request is
#: answered item by item in which list of the response. Where the request lists plain names, the
#: third is what the response calls them.
_PER_ITEM: dict[ApiKey, tuple[tuple[str, str, str], ...]] = {
    ApiKey.METADATA: (("topics", "topics", ""),),
    ApiKey.CREATE_TOPICS: (("topics", "topics", ""),),
    # The topics of DeleteTopics were plain names before version 6.
    ApiKey.DELETE_TOPICS: (("topics", "responses", ""), ("topic_names", "responses", "name")),
    ApiKey.CREATE_PARTITIONS: (("topics", "results", ""),),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: (("topics", "topics", ""),),
    ApiKey.DESCRIBE_CONFIGS: (("resources", "results", ""),),
    ApiKey.ALTER_CONFIGS: (("resources", "responses", ""),),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: (("resources", "responses", ""),),
    ApiKey.WRITE_TXN_MARKERS: (("markers", "markers", ""),),
    ApiKey.OFFSET_FETCH: (("groups", "groups", ""),),
    ApiKey.FIND_COORDINATOR: (("coordinator_keys", "coordinators", "key"),),
    ApiKey.DESCRIBE_GROUPS: (("groups", "groups", "group_id"),),
    ApiKey.DELETE_GROUPS: (("groups_names", "results", "group_id"),),
    ApiKey.CONSUMER_GROUP_DESCRIBE: (("group_ids", "groups", "group_id"),),
    ApiKey.SHARE_GROUP_DESCRIBE: (("group_ids", "groups", "group_id"),),
    ApiKey.STREAMS_GROUP_DESCRIBE: (("group_ids", "groups", "group_id"),),
    ApiKey.DESCRIBE_TRANSACTIONS: (
        ("transactional_ids", "transaction_states", "transactional_id"),
    ),
}
#: What says which item an answer is about.
_NAMES = ("name", "topic", "topic_id", "resource_type", "resource_name", "group_id", "producer_id")
#: What a request and a response call a partition, a list of topics, a list of partitions.
_INDEXES = ("index", "partition_index", "partition", "partition_id")
_CODES = ("error_code", "partition_error_code")
_ASKED_TOPICS = ("topic_data", "topics", "v3_and_below_topics", "topic_partitions")
_ANSWERED_TOPICS = (
    "responses",
    "topics",
    "results_by_topic_v3_and_below",
    "replica_election_results",
)
_ASKED_PARTITIONS = ("partition_data", "partitions", "partition_indexes")
_ANSWERED_PARTITIONS = (
    "partition_responses",
    "partitions",
    "results_by_partition",
    "partition_result",
)


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
    per_item = [
        lists
        for lists in _PER_ITEM.get(api.key, ())
        if version in request.fields[lists[0]].versions
    ]
    if per_item:
        _fill_items(version, request, response, per_item[0], error)
    else:
        _fill_topics(request, response, error)
    return response


def _set_error(target: Any, error: KafkaError) -> None:
    name = _first(_CODES, target)
    if name is not None:
        setattr(target, name, int(error.code))
    if "error_message" in target.fields:
        target.error_message = error.message or error.code.name


def _fill_items(
    version: int,
    request: Request,
    response: Response,
    lists: tuple[str, str, str],
    error: KafkaError,
) -> None:
    source, target, name_field = lists
    item_class = _item_class(response.fields[target])
    items: list[Any] = []
    for asked in getattr(request, source) or ():
        if name_field:
            items.append(item_class(**{name_field: asked}))
        else:
            items.append(_named(item_class(), asked, version))
        if _first(_CODES, items[-1]) is None:
            _fill_topics(asked, items[-1], error)
        _set_error(items[-1], error)
    setattr(response, target, items)


def _named(item: Any, asked: Any, version: int) -> Any:
    """Say in an answer which of the asked things it is about."""
    for name in _NAMES:
        if name in item.fields and name in asked.fields:
            value = getattr(asked, name)
            if value is None and version not in item.fields[name].nullable:
                value = ""
            setattr(item, name, value)
    return item


def _fill_topics(request: Struct, response: Struct, error: KafkaError) -> None:
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
        if "base_offset" in item.fields:
            item.base_offset = -1
        _set_error(item, error)
        partitions.append(item)


def _first(names: tuple[str, ...], struct: Struct) -> str | None:
    return next((name for name in names if name in struct.fields), None)


def _item_class(field: Field) -> type[Struct]:
    element = field.element
    assert element is not None  # noqa: S101 - narrows the type
    assert element.struct is not None  # noqa: S101 - narrows the type
    return element.struct
