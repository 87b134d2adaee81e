"""What a client needs to know, read from properties under Java's or librdkafka's names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

#: Names that mean the same; the first is Java's.
_SYNONYMS = {
    "metadata.broker.list": "bootstrap.servers",
    "socket.timeout.ms": "request.timeout.ms",
    "request.required.acks": "acks",
    "compression.codec": "compression.type",
    "sasl.mechanisms": "sasl.mechanism",
}
_DEFAULT_PORT_HINT = "give host:port, for instance localhost:9092"

#: More than any number of Kafka's has, and no work for `int`.
_DIGITS_MAX = 40


class ClientConfigError(ValueError):
    """A setting that cannot be right, in one sentence."""


@dataclass(frozen=True, slots=True)
class ClientConfig:
    """A client's settings; everything it does not use itself stays in `settings`."""

    bootstrap: tuple[tuple[str, int], ...]
    #: Whether `bootstrap` names controllers rather than brokers (KIP-919).
    to_controllers: bool = False
    client_id: str = "headrace"
    request_timeout_ms: int = 30_000
    default_api_timeout_ms: int = 60_000
    connection_setup_timeout_ms: int = 10_000
    retry_backoff_ms: int = 100
    retry_backoff_max_ms: int = 1_000
    settings: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_settings(
        cls, settings: Mapping[str, str], *, client_id: str = "headrace"
    ) -> ClientConfig:
        """Check the settings and take out what the client itself uses."""
        known = {normalise(name): value for name, value in settings.items()}
        _require_plaintext(known)
        servers = known.get("bootstrap.servers", "")
        controllers = known.get("bootstrap.controllers", "")
        if servers and controllers:
            raise ClientConfigError("Give bootstrap servers or bootstrap controllers, not both.")
        return cls(
            bootstrap=parse_addresses(servers or controllers),
            to_controllers=bool(controllers),
            client_id=known.get("client.id") or client_id,
            request_timeout_ms=_number(known, "request.timeout.ms", 30_000),
            default_api_timeout_ms=_number(known, "default.api.timeout.ms", 60_000),
            connection_setup_timeout_ms=_number(
                known, "socket.connection.setup.timeout.ms", 10_000
            ),
            retry_backoff_ms=_number(known, "retry.backoff.ms", 100),
            retry_backoff_max_ms=_number(known, "retry.backoff.max.ms", 1_000),
            settings=known,
        )


def normalise(name: str) -> str:
    """Java's name for a setting that may be written in another client's way."""
    dotted = name if "." in name else name.replace("_", ".")
    return _SYNONYMS.get(dotted, dotted)


def parse_addresses(text: str) -> tuple[tuple[str, int], ...]:
    """`host:port,host:port`, with brackets around an IPv6 address and an optional scheme."""
    addresses = []
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        bare = part.split("://", 1)[-1]
        host, colon, port = bare.rpartition(":")
        if not colon or not port.isdecimal() or not 0 < int(port) < 65536 or not host:
            raise ClientConfigError(
                f"Invalid url in bootstrap.servers: {part} ({_DEFAULT_PORT_HINT})."
            )
        addresses.append((host.removeprefix("[").removesuffix("]"), int(port)))
    if not addresses:
        raise ClientConfigError(f"No bootstrap server is given: {_DEFAULT_PORT_HINT}.")
    return tuple(addresses)


def _require_plaintext(settings: Mapping[str, str]) -> None:
    protocol = settings.get("security.protocol", "PLAINTEXT").strip().upper()
    if protocol not in ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"):
        raise ClientConfigError(
            f"Invalid value {protocol} for configuration security.protocol:"
            " it is PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL."
        )
    if protocol != "PLAINTEXT":
        raise ClientConfigError(
            f"security.protocol={protocol} is not supported by these tools yet, only PLAINTEXT;"
            " Apache Kafka's own tools work with this cluster in the meantime."
        )


def whole_number(name: str, text: str, least: int = 0) -> int:
    """The value of a setting that is a number without a fraction."""
    digits = text.strip().removeprefix("+")
    if digits.isdecimal() and len(digits) <= _DIGITS_MAX and int(digits) >= least:
        return int(digits)
    raise ClientConfigError(
        f"Invalid value {text} for configuration {name}: it is a whole number, {least} or larger."
    )


def _number(settings: Mapping[str, str], name: str, default: int) -> int:
    text = settings.get(name)
    return default if text is None else whole_number(name, text)
