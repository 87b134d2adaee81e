"""Settings of a proxy, under Confluent's names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from headrace.base.java_properties import decode_properties, parse_properties
from headrace.web.limits import IDLE_TIMEOUT_MS

ENVIRONMENT_PREFIX = "KAFKA_REST_"
DEFAULT_PORT = 8082
#: Names of Java's clients that librdkafka spells otherwise.
_LIBRDKAFKA = {"sasl.mechanism": "sasl.mechanisms"}
#: Settings of Java's clients that mean nothing to librdkafka.
_JAVA_ONLY = ("max.block.ms", "max.poll.records", "buffer.memory", "interceptor.classes", "retries")
_NUMBERS = {
    "consumer.instance.timeout.ms": 300_000,
    "consumer.request.timeout.ms": 1000,
    "consumer.request.max.bytes": 64 * 1024 * 1024,
    "consumer.threads": 50,
    "fetch.min.bytes": -1,
    "headrace.rest.request.max.bytes": 64 * 1024 * 1024,
    "headrace.rest.consumer.instances.max": 1000,
    "client.timeout.ms": 10_000,
    "idle.timeout.ms": IDLE_TIMEOUT_MS,
}


class RestConfigError(ValueError):
    """A setting that keeps the proxy from starting, in one sentence."""


@dataclass(frozen=True, slots=True)
class RestConfig:
    """What the proxy's parts need; `properties` keeps the settings of Kafka's clients."""

    host: str
    port: int
    bootstrap_servers: str
    schema_registry_url: str = ""
    id: str = ""
    #: How clients reach this proxy, if it is not the address they used.
    advertised_url: str = ""
    #: Other proxies, which may have the consumer instance that a client asks here for.
    peers: tuple[str, ...] = ()
    instance_timeout_ms: int = _NUMBERS["consumer.instance.timeout.ms"]
    request_timeout_ms: int = _NUMBERS["consumer.request.timeout.ms"]
    request_max_bytes: int = _NUMBERS["consumer.request.max.bytes"]
    consumer_threads: int = _NUMBERS["consumer.threads"]
    fetch_min_bytes: int = _NUMBERS["fetch.min.bytes"]
    body_max_bytes: int = _NUMBERS["headrace.rest.request.max.bytes"]
    instances_max: int = _NUMBERS["headrace.rest.consumer.instances.max"]
    client_timeout_ms: int = _NUMBERS["client.timeout.ms"]
    idle_timeout_ms: int = _NUMBERS["idle.timeout.ms"]
    properties: Mapping[str, str] = field(default_factory=dict)

    @property
    def client_timeout_s(self) -> float:
        return self.client_timeout_ms / 1000

    def client_settings(self, kind: str) -> dict[str, Any]:
        """Settings of a Kafka client: those of `client.`, and above them those of its kind."""
        settings: dict[str, Any] = {"bootstrap.servers": self.bootstrap_servers}
        for prefix in ("client.", f"{kind}."):
            for name, value in self.properties.items():
                plain = name.removeprefix(prefix)
                if plain != name and name not in _NUMBERS and plain not in _JAVA_ONLY:
                    settings[_LIBRDKAFKA.get(plain, plain)] = value
        return settings

    def registry_settings(self) -> dict[str, str]:
        """What the schema registry's client needs, for keys and values alike."""
        names = {name: value for name, value in self.properties.items() if "." in name}
        return {**names, "schema.registry.url": self.schema_registry_url}


def read_config(
    path: str | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    overrides: Iterable[str] = (),
) -> RestConfig:
    """From a file, above it `KAFKA_REST_…` variables, above them `--override`."""
    properties: dict[str, str] = {}
    if path is not None:
        with open(path, "rb") as file:
            text = decode_properties(file.read())
        properties = {name: value for _, name, value in parse_properties(text)}
    for variable, value in sorted((environment or {}).items()):
        if variable.startswith(ENVIRONMENT_PREFIX):
            properties[_setting_name(variable)] = value
    for override in overrides:
        name, equals, value = override.partition("=")
        if not equals or not name.strip():
            raise RestConfigError(f"--override takes name=value, not '{override}'.")
        properties[name.strip()] = value
    return make_config(properties)


def make_config(properties: Mapping[str, str]) -> RestConfig:
    servers = ",".join(
        server.strip().rpartition("://")[2]
        for server in properties.get("bootstrap.servers", "").split(",")
    )
    if not servers:
        raise RestConfigError("bootstrap.servers is not set: which Kafka should the proxy use?")
    host, port = _listener(properties.get("listeners", ""))
    advertised = properties.get("advertised.listeners", "").split(",")[0].strip()
    numbers = {name: _number(properties, name) for name in _NUMBERS}
    peers = properties.get("headrace.rest.peers", "")
    return RestConfig(
        host=host,
        port=port,
        bootstrap_servers=servers,
        schema_registry_url=properties.get("schema.registry.url", "").strip(),
        id=properties.get("id", "").strip(),
        advertised_url=advertised.rstrip("/"),
        peers=tuple(_url(peer.strip()) for peer in peers.split(",") if peer.strip()),
        instance_timeout_ms=numbers["consumer.instance.timeout.ms"],
        request_timeout_ms=numbers["consumer.request.timeout.ms"],
        request_max_bytes=numbers["consumer.request.max.bytes"],
        consumer_threads=max(1, numbers["consumer.threads"]),
        fetch_min_bytes=numbers["fetch.min.bytes"],
        body_max_bytes=numbers["headrace.rest.request.max.bytes"],
        instances_max=numbers["headrace.rest.consumer.instances.max"],
        client_timeout_ms=numbers["client.timeout.ms"],
        idle_timeout_ms=numbers["idle.timeout.ms"],
        properties=dict(properties),
    )


def _listener(text: str) -> tuple[str, int]:
    first = text.split(",")[0].strip()
    if not first:
        return "0.0.0.0", DEFAULT_PORT  # noqa: S104 - Confluent's default
    parts = urlsplit(first)
    if parts.scheme != "http":
        raise RestConfigError(f"listeners must be http://host:port, not {first}.")
    try:
        port = parts.port
    except ValueError as error:
        raise RestConfigError(f"{first} has no usable port.") from error
    return parts.hostname or "0.0.0.0", DEFAULT_PORT if port is None else port  # noqa: S104


def _url(text: str) -> str:
    if not text.startswith(("http://", "https://")):
        raise RestConfigError(f"headrace.rest.peers takes addresses like http://host:8082: {text}.")
    return text.rstrip("/")


def _number(properties: Mapping[str, str], name: str) -> int:
    text = properties.get(name)
    try:
        return _NUMBERS[name] if text is None else int(text)
    except ValueError:
        raise RestConfigError(f"{name} must be a whole number, not '{text}'.") from None


def _setting_name(variable: str) -> str:
    """The rule of Confluent's image: `_` is a dot, `__` a dash, `___` an underscore."""
    name = variable.removeprefix(ENVIRONMENT_PREFIX).lower()
    return name.replace("___", "\0").replace("__", "-").replace("_", ".").replace("\0", "_")
