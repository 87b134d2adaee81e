"""A client's settings, under Java's names and others'."""

from __future__ import annotations

import pytest

from headrace.client.config import ClientConfig, ClientConfigError, parse_addresses


def test_java_librdkafka_and_python_names_mean_the_same() -> None:
    for name in ("bootstrap.servers", "metadata.broker.list", "bootstrap_servers"):
        config = ClientConfig.from_settings({name: "a:1,b:2"})
        assert config.bootstrap == (("a", 1), ("b", 2))
    config = ClientConfig.from_settings(
        {"bootstrap.servers": "a:1", "socket.timeout.ms": "7", "client.id": "me"}
    )
    assert (config.request_timeout_ms, config.client_id) == (7, "me")


def test_controllers_are_told_apart_from_brokers() -> None:
    config = ClientConfig.from_settings({"bootstrap.controllers": "c:9093"})
    assert config.to_controllers
    with pytest.raises(ClientConfigError, match="not both"):
        ClientConfig.from_settings({"bootstrap.controllers": "c:1", "bootstrap.servers": "b:1"})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("localhost:9092", (("localhost", 9092),)),
        (" a:1 , b:2 ,", (("a", 1), ("b", 2))),
        ("[::1]:9092", (("::1", 9092),)),
        ("PLAINTEXT://host.example:1", (("host.example", 1),)),
    ],
)
def test_addresses(text: str, expected: tuple[tuple[str, int], ...]) -> None:
    assert parse_addresses(text) == expected


@pytest.mark.parametrize("text", ["", "localhost", "host:", ":9092", "host:0", "host:99999", "h:x"])
def test_an_address_that_cannot_be_right_is_told(text: str) -> None:
    with pytest.raises(ClientConfigError):
        parse_addresses(text)


@pytest.mark.parametrize("protocol", ["SSL", "sasl_ssl", "SASL_PLAINTEXT"])
def test_security_that_is_not_there_yet_is_one_clear_sentence(protocol: str) -> None:
    with pytest.raises(ClientConfigError, match="not supported by these tools yet"):
        ClientConfig.from_settings({"bootstrap.servers": "a:1", "security.protocol": protocol})


def test_a_wrong_number_names_the_setting() -> None:
    with pytest.raises(ClientConfigError, match=r"Invalid value soon .* request\.timeout\.ms"):
        ClientConfig.from_settings({"bootstrap.servers": "a:1", "request.timeout.ms": "soon"})
