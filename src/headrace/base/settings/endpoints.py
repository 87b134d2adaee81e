"""Addresses inside setting values: `host:port`, `[::1]:port` and `id@host:port`."""

import re
from typing import NamedTuple

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.settings.values import Value

_HOST_PORT = re.compile(r"\[?([0-9a-zA-Z\-%._:]*)\]?:([0-9]+)")
_VOTER_FORM = "Each entry should be in the form `{id}@{host}:{port}`."
PORT_MAX = 65535


class Address(NamedTuple):
    host: str
    port: int


class Voter(NamedTuple):
    node_id: int
    address: Address


def parse_address(text: str) -> Address | None:
    """None when `text` is no address with a port."""
    match = _HOST_PORT.fullmatch(text.strip())
    if match is None or not match[1] or len(match[2]) > 9:
        return None
    return Address(match[1], _port(int(match[2])))


def parse_voters(entries: tuple[str, ...]) -> tuple[Voter, ...]:
    return tuple(_voter(entry) for entry in entries if entry)


def parse_bootstrap_servers(entries: tuple[str, ...]) -> tuple[Address, ...]:
    return tuple(_bootstrap_server(entry) for entry in entries if entry)


def quorum_voters(name: str, value: Value) -> None:
    """Validator of controller.quorum.voters."""
    if isinstance(value, tuple):
        parse_voters(value)


def quorum_bootstrap_servers(name: str, value: Value) -> None:
    """Validator of controller.quorum.bootstrap.servers."""
    if isinstance(value, tuple):
        parse_bootstrap_servers(value)


def _voter(entry: str) -> Voter:
    node_id, at, address_text = entry.partition("@")
    if not at:
        message = f"Invalid configuration value for controller.quorum.voters. {_VOTER_FORM}"
        raise KafkaError(ErrorCode.INVALID_CONFIG, message)
    if not node_id.isdecimal() or len(node_id) > 9:
        message = f"Failed to parse voter ID as an integer from {node_id}"
        raise KafkaError(ErrorCode.INVALID_CONFIG, message)
    address = parse_address(address_text)
    if address is None:
        message = (
            f"Failed to parse host name from entry {entry} for the configuration"
            f" controller.quorum.voters. {_VOTER_FORM}"
        )
        raise KafkaError(ErrorCode.INVALID_CONFIG, message)
    return Voter(int(node_id), address)


def _bootstrap_server(entry: str) -> Address:
    address = parse_address(entry)
    if address is None:
        message = (
            f"Failed to parse host name from {entry} for the configuration"
            ' controller.quorum.bootstrap.servers. Each entry should be in the form "{host}:{port}"'
        )
        raise KafkaError(ErrorCode.INVALID_CONFIG, message)
    return address


def _port(number: int) -> int:
    if number > PORT_MAX:
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"port out of range:{number}")
    return number
