"""confluent-kafka's registry client and all of its serializers, unchanged, against our registry."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient

from headrace.testing import EmbeddedKafka
from tests.support import registry_client as steps
from tests.support.schema_registry import SchemaRegistry


@pytest.fixture(scope="module")
def registry(
    node: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SchemaRegistry]:
    directory: Path = tmp_path_factory.mktemp("registry")
    with SchemaRegistry(directory, node.bootstrap_servers) as running:
        yield running


@pytest.fixture
def client(registry: SchemaRegistry) -> Iterator[SchemaRegistryClient]:
    with SchemaRegistryClient({"url": registry.url}) as client:
        yield client


def test_every_call_of_the_client_is_answered(client: SchemaRegistryClient) -> None:
    steps.use_every_call(client, "users-value")


def test_subjects_may_have_slashes_and_colons_in_their_names(client: SchemaRegistryClient) -> None:
    steps.use_every_call(client, "teams/red:users value")


def test_avro_with_a_reference_goes_through_the_serializers(client: SchemaRegistryClient) -> None:
    steps.round_trip_avro(client, "orders")


def test_json_schema_with_a_reference_goes_through_the_serializers(
    client: SchemaRegistryClient,
) -> None:
    steps.round_trip_json(client, "people")


def test_protobuf_with_imports_goes_through_the_serializers(client: SchemaRegistryClient) -> None:
    steps.round_trip_protobuf(client, "messages")


def test_a_guid_leads_to_its_schema(registry: SchemaRegistry) -> None:
    steps.find_by_guid(registry.url, "guids")
