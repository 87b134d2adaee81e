"""What a client learns by asking: the versions of APIs and every setting, as Apache answers."""

from collections.abc import Iterator
from typing import Any

import pytest

from headrace.client.blocking import KafkaClient
from headrace.client.config import ClientConfig
from headrace.client.connection import BlockingConnection
from headrace.metadata.image import ConfigResource
from headrace.protocol.apis import ApiKey
from headrace.protocol.messages.create_topics import (
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from headrace.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from tests.support.apache_kafka import ApacheKafka
from tests.support.headrace_node import HeadraceNode
from tests.support.node import Node

#: Differ by nature: ports and paths.
_PLACES = ("advertised.listeners", "controller.quorum.voters", "listeners", "log.dirs")


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory, apache: ApacheKafka) -> Iterator[HeadraceNode]:
    directory = tmp_path_factory.mktemp("answers") / "data"
    with HeadraceNode(directory, settings=apache.default_settings()) as running:
        yield running


def _listed(port: int) -> dict[int, tuple[int, int]]:
    config = ClientConfig(bootstrap=(("127.0.0.1", port),))
    connection = BlockingConnection(config.bootstrap[0], config)
    connection.close()
    listed = connection.api_versions.api_keys
    assert [api.api_key for api in listed] == sorted(api.api_key for api in listed)
    return {api.api_key: (api.min_version, api.max_version) for api in listed}


def test_a_broker_lists_the_versions_that_apache_lists(
    node: HeadraceNode, apache: ApacheKafka
) -> None:
    ours, theirs = _listed(node.port), _listed(apache.port)
    assert ours == {key: theirs[key] for key in ours}
    assert ours[ApiKey.PRODUCE][0] == 0
    assert ours[ApiKey.INIT_PRODUCER_ID][1] == 5
    assert set(ours) >= _NEEDED


def test_a_controller_lists_the_versions_that_apache_lists(
    node: HeadraceNode, apache: ApacheKafka
) -> None:
    ours, theirs = _listed(node.controller_port), _listed(apache.controller_port)
    assert ours == {key: theirs[key] for key in ours}
    assert ApiKey.DESCRIBE_QUORUM in ours


def _described(node: Node, kind: int, name: str) -> dict[str, dict[str, Any]]:
    request = DescribeConfigsRequest(
        resources=[DescribeConfigsResource(resource_type=kind, resource_name=name)],
        include_synonyms=True,
        include_documentation=True,
    )
    config = ClientConfig(bootstrap=(("127.0.0.1", node.port),))
    with KafkaClient(config) as client:
        (result,) = client.any_node().call(request, DescribeConfigsResponse).results
    assert (result.error_code, result.error_message) in ((0, ""), (0, None))
    documented = {one.name: bool(one.documentation) for one in result.configs}
    return {
        one.name: {
            "value": one.value,
            "type": one.config_type,
            "source": one.config_source,
            "read only": one.read_only,
            "sensitive": one.is_sensitive,
            "documented": documented[one.name],
            "synonyms": [(syn.name, syn.value, syn.source) for syn in one.synonyms],
        }
        for one in result.configs
        if not one.name.startswith("headrace.") and one.name not in _PLACES
    }


def _create(node: Node, topic: str) -> None:
    config = ClientConfig(bootstrap=(("127.0.0.1", node.port),))
    request = CreateTopicsRequest(
        topics=[CreatableTopic(name=topic, num_partitions=1, replication_factor=1)]
    )
    with KafkaClient(config) as client:
        (result,) = client.any_node().call(request, CreateTopicsResponse).topics
    assert result.error_code == 0


def _must_be_equal(ours: dict[str, dict[str, Any]], theirs: dict[str, dict[str, Any]]) -> None:
    assert sorted(ours) == sorted(theirs)
    differing = {name: (ours[name], theirs[name]) for name in ours if ours[name] != theirs[name]}
    assert differing == {}


def test_every_broker_setting_is_described_as_apache_does(
    node: HeadraceNode, apache: ApacheKafka
) -> None:
    ours = _described(node, ConfigResource.BROKER, "1")
    _must_be_equal(ours, _described(apache, ConfigResource.BROKER, "1"))
    assert len(ours) > 250


def test_every_topic_setting_is_described_as_apache_does(
    node: HeadraceNode, apache: ApacheKafka
) -> None:
    for one in (node, apache):
        _create(one, "described-configs")
    ours = _described(node, ConfigResource.TOPIC, "described-configs")
    _must_be_equal(ours, _described(apache, ConfigResource.TOPIC, "described-configs"))
    assert len(ours) > 30


def test_every_group_setting_is_described_as_apache_does(
    node: HeadraceNode, apache: ApacheKafka
) -> None:
    ours = _described(node, ConfigResource.GROUP, "some-group")
    _must_be_equal(ours, _described(apache, ConfigResource.GROUP, "some-group"))


#: What this node is for; an API that disappears from the table is noticed here.
_NEEDED = {
    ApiKey.PRODUCE,
    ApiKey.FETCH,
    ApiKey.LIST_OFFSETS,
    ApiKey.METADATA,
    ApiKey.API_VERSIONS,
    ApiKey.CREATE_TOPICS,
    ApiKey.DELETE_TOPICS,
    ApiKey.DELETE_RECORDS,
    ApiKey.INIT_PRODUCER_ID,
    ApiKey.OFFSET_FOR_LEADER_EPOCH,
    ApiKey.DESCRIBE_CONFIGS,
    ApiKey.ALTER_CONFIGS,
    ApiKey.DESCRIBE_LOG_DIRS,
    ApiKey.CREATE_PARTITIONS,
    ApiKey.INCREMENTAL_ALTER_CONFIGS,
    ApiKey.DESCRIBE_QUORUM,
    ApiKey.UPDATE_FEATURES,
    ApiKey.DESCRIBE_CLUSTER,
    ApiKey.DESCRIBE_PRODUCERS,
    ApiKey.LIST_CONFIG_RESOURCES,
    ApiKey.DESCRIBE_TOPIC_PARTITIONS,
}
