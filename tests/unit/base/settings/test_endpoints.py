import pytest

from headrace.base.errors import KafkaError
from headrace.base.settings.broker import BROKER_SETTINGS
from headrace.base.settings.endpoints import Address, Voter, parse_address, parse_voters


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("localhost:9092", Address("localhost", 9092)),
        ("[::1]:9092", Address("::1", 9092)),
        ("10.0.0.1:0", Address("10.0.0.1", 0)),
        ("localhost", None),
        ("localhost:x", None),
        (":9092", None),
        ("localhost:99999999999", None),
    ],
)
def test_an_address_is_a_host_and_a_port(text: str, address: Address | None) -> None:
    assert parse_address(text) == address


def test_voters_have_an_id_and_an_address() -> None:
    voters = parse_voters(("1@a:9093", "2@[::1]:9094"))
    assert voters == (Voter(1, Address("a", 9093)), Voter(2, Address("::1", 9094)))


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "controller.quorum.voters",
            "a:9093",
            (
                "Invalid configuration value for controller.quorum.voters."
                " Each entry should be in the form `{id}@{host}:{port}`."
            ),
        ),
        (
            "controller.quorum.voters",
            "x@a:9093",
            "Failed to parse voter ID as an integer from x",
        ),
        (
            "controller.quorum.voters",
            "1@a",
            (
                "Failed to parse host name from entry 1@a for the configuration"
                " controller.quorum.voters. Each entry should be in the form `{id}@{host}:{port}`."
            ),
        ),
        ("controller.quorum.voters", "1@a:99999", "port out of range:99999"),
        (
            "controller.quorum.bootstrap.servers",
            "a",
            (
                "Failed to parse host name from a for the configuration"
                " controller.quorum.bootstrap.servers."
                ' Each entry should be in the form "{host}:{port}"'
            ),
        ),
    ],
)
def test_a_bad_quorum_is_refused_with_kafkas_sentence(name: str, text: str, message: str) -> None:
    with pytest.raises(KafkaError) as caught:
        BROKER_SETTINGS[name].parse(text)
    assert caught.value.message == message
