"""Every API declares what it needs, and refuses whoever has not got it, with Kafka's code."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.base.errors import ErrorCode
from headrace.broker.api_table import OPEN, Access, Api, ApiTable, Scope, on_cluster, on_each
from headrace.broker.authorization import (
    ANONYMOUS,
    CLUSTER_NAME,
    AllowAll,
    Operation,
    Principal,
    ResourceType,
)
from headrace.protocol.apis import ApiKey, message_classes
from headrace.protocol.schema import Request
from tests.support.message_values import build, plain
from tests.unit.broker.fakes import DenyAll
from tests.unit.broker.frames import error_codes
from tests.unit.broker.harness import Broker

TOPIC_REFUSED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
GROUP_REFUSED = ErrorCode.GROUP_AUTHORIZATION_FAILED
CLUSTER_REFUSED = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
TXN_REFUSED = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED

#: What a caller without any right hears from an API, whatever it names. APIs that are not here
#: follow from their declared access; an empty set answers everybody.
EXPECTED: dict[ApiKey, set[ErrorCode]] = {
    ApiKey.API_VERSIONS: set(),
    ApiKey.DESCRIBE_CLUSTER: set(),
    # What nobody may see is left out.
    ApiKey.LIST_GROUPS: set(),
    ApiKey.LIST_TRANSACTIONS: set(),
    ApiKey.INIT_PRODUCER_ID: {TXN_REFUSED},
    # Configs of a type that the plain request names: see test_describe_configs.
    ApiKey.DESCRIBE_CONFIGS: {TOPIC_REFUSED},
    ApiKey.ALTER_CONFIGS: {TOPIC_REFUSED},
    ApiKey.INCREMENTAL_ALTER_CONFIGS: {TOPIC_REFUSED},
}
_BY_RESOURCE = {
    ResourceType.TOPIC: TOPIC_REFUSED,
    ResourceType.GROUP: GROUP_REFUSED,
    ResourceType.CLUSTER: CLUSTER_REFUSED,
    ResourceType.TRANSACTIONAL_ID: TXN_REFUSED,
}


@pytest.fixture
def locked(tmp_path: Path) -> Iterator[Broker]:
    """A broker with a topic, where nobody may do anything."""
    broker = Broker(tmp_path, authorizer=DenyAll())
    broker.create_topic("topic", 2)
    yield broker
    broker.close()


def ordinary(request: type[Request], version: int) -> Any:
    """A request about the topic `topic`, with every list filled."""
    message: Any = build(request, version, plain)
    for name in ("topics", "topic_names", "resources", "topic_data"):
        # What is named twice is refused for that, before anybody asks who may see it.
        if getattr(message, name, None):
            del getattr(message, name)[1:]
    if request.api_key == ApiKey.PRODUCE:
        message.acks = 1
    if request.api_key == ApiKey.FETCH:
        # A plain fetch, not one that resumes a session or poses as a follower.
        message.session_epoch, message.session_id = -1, 0
        message.replica_id, message.max_wait_ms = -1, 0
        if version >= 15:
            message.replica_state.replica_id = -1
    if request.api_key == ApiKey.FIND_COORDINATOR:
        message.key_type = 0  # of a group
    for resource in getattr(message, "resources", ()):
        resource.resource_type = 2
    return message


def expected(api: Api) -> set[ErrorCode]:
    if api.key in EXPECTED:
        return EXPECTED[api.key]
    assert api.access.resource is not None
    return {_BY_RESOURCE[api.access.resource]}


def test_every_served_api_declares_what_it_needs(broker: Broker) -> None:
    for table in (broker.table, broker.controller_table):
        for api in table:
            assert isinstance(api.access, Access), api.key
            if api.access.scope is Scope.OPEN:
                assert EXPECTED.get(api.key) == set(), f"{api.key!r} is open to everybody"
            else:
                assert isinstance(api.access.operation, Operation), api.key
                assert isinstance(api.access.resource, ResourceType), api.key


def test_a_row_without_access_cannot_be_written() -> None:
    with pytest.raises((TypeError, ValueError)):
        ApiTable([(ApiKey.METADATA, lambda context, request: None)])  # type: ignore[list-item]


def test_whoever_may_do_nothing_is_refused_by_every_api_with_its_code(locked: Broker) -> None:
    topic_id = locked.plane.image.topics_by_name["topic"].topic_id
    for api in locked.table:
        for version in range(api.version_min, api.version_max + 1):
            request = ordinary(api.request, version)
            _aim_at(request, version, topic_id)
            response = locked.ask(request, version)
            if api.key == ApiKey.DESCRIBE_LOG_DIRS and version < 3:
                # No place for an error, so nothing is told at all.
                assert response.results == []
                continue
            if api.key == ApiKey.ADD_PARTITIONS_TO_TXN and version >= 4:
                assert error_codes(response) == {CLUSTER_REFUSED}  # for other brokers only
                continue
            assert error_codes(response) == expected(api), (api.key, version, response)


def _aim_at(request: Any, version: int, topic_id: bytes) -> None:
    """Newer versions name topics by id: the one that exists."""
    key = request.api_key
    for name in ("topics", "topic_data", "forgotten_topics_data"):
        for topic in getattr(request, name, None) or ():
            if not hasattr(topic, "topic_id"):
                continue
            if key == ApiKey.METADATA and version < 12:
                topic.topic_id = bytes(16)  # on the wire, but not to be used yet
            elif topic.topic_id != bytes(16):
                topic.topic_id = topic_id
                if key in (ApiKey.METADATA, ApiKey.DELETE_TOPICS):
                    topic.name = None


def test_nothing_has_changed_after_all_those_refusals(locked: Broker) -> None:
    before = locked.plane.image
    for api in locked.table:
        locked.ask(ordinary(api.request, api.version_max), api.version_max)
    assert locked.plane.image == before
    assert locked.partition("topic").log.log_end_offset == 0


def test_the_controllers_listener_refuses_too(locked: Broker) -> None:
    locked.dispatcher._table = locked.controller_table
    for api in locked.controller_table:
        request = ordinary(api.request, api.version_max)
        if api.key == ApiKey.DESCRIBE_CLUSTER:
            request.endpoint_type = 2
        codes = error_codes(locked.ask(request, api.version_max))
        assert codes or EXPECTED.get(api.key) == set(), api.key


# The pieces


def test_declarations_say_where_they_are_checked() -> None:
    assert on_cluster(Operation.ALTER) == Access(
        Operation.ALTER, ResourceType.CLUSTER, Scope.CLUSTER
    )
    assert on_each(Operation.READ, ResourceType.TOPIC).scope is Scope.NAMED
    assert OPEN.operation is None


def test_without_an_authorizer_everybody_may_do_everything() -> None:
    everybody = AllowAll()
    assert everybody.allows(ANONYMOUS, "h", Operation.ALTER, ResourceType.CLUSTER, CLUSTER_NAME)
    assert everybody.allows_any(ANONYMOUS, "h", Operation.WRITE, ResourceType.TOPIC)
    assert str(Principal("User", "alice")) == "User:alice"


def test_the_table_serves_all_versions_of_an_api_but_unstable_ones(broker: Broker) -> None:
    for api in broker.table:
        request, response = message_classes(api.key)
        assert (api.request, api.response) == (request, response)
        assert api.version_min == request.versions.low
        high = request.versions.high
        assert api.version_max == (5 if api.key == ApiKey.INIT_PRODUCER_ID else high)


def test_the_table_lists_apis_in_the_order_of_their_keys(broker: Broker) -> None:
    keys = [api.key for api in broker.table]
    assert keys == sorted(keys)
    assert broker.table.get(-5) is None
