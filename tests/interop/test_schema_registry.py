"""Our registry on Apache Kafka, unchanged, and two registries that share a topic."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient

from tests.support import registry_client as steps
from tests.support.apache_kafka import ApacheKafka
from tests.support.schema_registry import SchemaRegistry


@pytest.fixture(scope="module")
def registry(
    apache: ApacheKafka, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SchemaRegistry]:
    with SchemaRegistry(tmp_path_factory.mktemp("registry"), apache.bootstrap) as running:
        yield running


def test_the_client_and_its_serializers_work_on_apache_kafka(registry: SchemaRegistry) -> None:
    with SchemaRegistryClient({"url": registry.url}) as client:
        steps.use_every_call(client, "users-value")
        steps.round_trip_avro(client, "orders")
        steps.round_trip_json(client, "people")
        steps.round_trip_protobuf(client, "messages")


def test_a_registry_started_later_knows_what_the_first_one_stored(
    apache: ApacheKafka, registry: SchemaRegistry, tmp_path: Path
) -> None:
    id_ = registry.register("later", '"string"')
    with SchemaRegistry(tmp_path, apache.bootstrap) as second:
        assert second.ask("GET", f"/schemas/ids/{id_}").body["schema"] == '"string"'
        leader = registry.ask("GET", "/leader").body["leader"]
        assert second.ask("GET", "/leader").body["leader"] == leader
        # A write through the one that does not lead, a read from the other one.
        other = second.register("forwarded", json.dumps({"type": "array", "items": "int"}))
        assert registry.ask("GET", "/subjects/forwarded/versions/latest").body["id"] == other
