"""A client's settings, under Java's names and others'."""

from __future__ import annotations

import pytest

from headrace.client.config import ClientConfig, ClientConfigError, parse_addresses, whole_number


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


@pytest.mark.parametrize(("text", "number"), [("5", 5), (" 007 ", 7), ("+5", 5), ("0", 0)])
def test_a_whole_number_is_read_as_java_reads_it(text: str, number: int) -> None:
    assert whole_number("retries", text) == number


@pytest.mark.parametrize("text", ["", "-1", "++5", "5.0", "1_000", "5 0", "soon", "9" * 5_000])
def test_what_is_no_whole_number_is_refused_with_its_setting_and_the_least(text: str) -> None:
    with pytest.raises(ClientConfigError) as refused:
        whole_number("retries", text)
    assert str(refused.value) == (
        f"Invalid value {text} for configuration retries: it is a whole number, 0 or larger."
    )


def test_a_number_may_have_to_be_more_than_0() -> None:
    assert whole_number("max.poll.records", "1", least=1) == 1
    with pytest.raises(ClientConfigError, match="a whole number, 1 or larger"):
        whole_number("max.poll.records", "0", least=1)
