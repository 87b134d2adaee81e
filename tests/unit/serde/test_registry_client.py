"""Addresses, credentials, caches and references."""

import socket

import pytest

from headrace.serde.errors import RegistryError, RegistryUnavailableError, SchemaError, SerdeError
from headrace.serde.registry_client import RegistryClient
from headrace.serde.schema import Reference, Schema
from tests.support.small_registry import SmallRegistry, small_registry


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_what_cannot_change_is_asked_once(registry: SmallRegistry, client: RegistryClient) -> None:
    for _ in range(3):
        registered = client.register("orders-value", Schema('"string"'))
        assert client.schema_by_id(registered.id) == Schema('"string"')
        assert client.version("orders-value", 1).id == registered.id
    assert registry.asked == [
        "POST /subjects/orders-value/versions",
        "GET /schemas/ids/1",
        "GET /subjects/orders-value/versions/1",
    ]


def test_the_latest_version_is_asked_for_each_time(
    registry: SmallRegistry, client: RegistryClient
) -> None:
    client.register("s", Schema('"string"'))
    assert client.latest("s").schema.text == '"string"'
    client.register("s", Schema('"long"'))
    assert client.latest("s").schema.text == '"long"'
    assert client.latest("s").version == 2


def test_an_address_that_does_not_answer_is_left_for_the_next(registry: SmallRegistry) -> None:
    urls = f"http://127.0.0.1:{closed_port()}, {registry.url}"
    client = RegistryClient.from_settings({"schema.registry.url": urls})
    assert client.register("s", Schema('"string"')).id == 1
    client.close()


def test_no_address_that_answers_is_one_sentence() -> None:
    url = f"http://127.0.0.1:{closed_port()}"
    client = RegistryClient.from_settings({"schema.registry.url": url})
    with pytest.raises(RegistryUnavailableError, match="does not answer"):
        client.schema_by_id(1)


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_a_registry_in_trouble_is_one_that_may_answer_later(
    registry: SmallRegistry, client: RegistryClient, status: int
) -> None:
    registry.trouble = status
    with pytest.raises(RegistryUnavailableError, match=f"does not answer .*status {status}"):
        client.register("s", Schema('"string"'))
    registry.trouble = 0
    assert client.register("s", Schema('"string"')).id == 1


def test_an_address_in_trouble_is_left_for_the_next(registry: SmallRegistry) -> None:
    with small_registry() as troubled:
        troubled.trouble = 503
        urls = f"{troubled.url},{registry.url}"
        client = RegistryClient.from_settings({"schema.registry.url": urls})
        assert client.register("s", Schema('"string"')).id == 1
        client.close()
    assert (len(troubled.asked), len(registry.asked)) == (1, 1)


@pytest.mark.parametrize("status", [401, 409, 422, 501])
def test_what_would_be_refused_again_is_a_refusal(
    registry: SmallRegistry, client: RegistryClient, status: int
) -> None:
    registry.trouble = status
    with pytest.raises(RegistryError, match="refused: not now") as caught:
        client.register("s", Schema('"string"'))
    assert (caught.value.status, caught.value.code) == (status, 50001)


def test_an_unknown_id_is_the_registrys_own_error(client: RegistryClient) -> None:
    with pytest.raises(RegistryError, match="Schema 77 not found") as caught:
        client.schema_by_id(77)
    assert (caught.value.status, caught.value.code) == (404, 40403)


@pytest.mark.parametrize("url", ["", "localhost:8081", "ftp://x", "http://", "http://h:port"])
def test_an_address_that_is_none_is_refused_at_once(url: str) -> None:
    with pytest.raises(SerdeError):
        RegistryClient.from_settings({"schema.registry.url": url})


@pytest.mark.parametrize("in_url", [True, False])
def test_credentials_are_sent(registry: SmallRegistry, in_url: bool) -> None:
    settings = {"schema.registry.url": registry.url, "basic.auth.user.info": "ann:s3cret"}
    if in_url:
        settings = {"schema.registry.url": registry.url.replace("//", "//ann:s3cret@")}
    client = RegistryClient.from_settings(settings)
    client.register("s", Schema('"string"'))
    client.close()
    assert registry.authorization == ["Basic YW5uOnMzY3JldA=="]


def test_subjects_may_hold_any_character(registry: SmallRegistry, client: RegistryClient) -> None:
    client.register(":.ctx:a/b ü-value", Schema('"string"'))
    assert list(registry.subjects) == [":.ctx:a/b ü-value"]


def test_references_come_before_what_builds_on_them(client: RegistryClient) -> None:
    client.register("a", Schema('{"type":"enum","name":"A","symbols":["X"]}'))
    client.register("b", Schema("{}", references=(Reference("A", "a", 1),)))
    schema = Schema("{}", references=(Reference("B", "b", 1), Reference("A", "a", 1)))
    assert list(client.referenced(schema)) == ["A", "B"]


def test_a_circle_of_references_is_refused(client: RegistryClient) -> None:
    client.register("a", Schema("{}", references=(Reference("B", "b", 1),)))
    client.register("b", Schema("{}", references=(Reference("A", "a", 1),)))
    with pytest.raises(SchemaError, match="refers to itself"):
        client.referenced(Schema("{}", references=(Reference("A", "a", 1),)))
