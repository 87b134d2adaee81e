"""Settings of a registry under Confluent's names, from a file, the environment and overrides."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from headrace.base.errors import ErrorCode, KafkaError
from headrace.registry.core.levels import LEVELS
from headrace.registry.core.registry import CoreConfig
from headrace.registry.kafka.election import ElectionConfig
from headrace.registry.kafka.schema_log import LogConfig
from headrace.web.limits import IDLE_TIMEOUT_MS

DEFAULT_LISTENERS = "http://0.0.0.0:8081"
ENVIRONMENT_PREFIX = "SCHEMA_REGISTRY_"
_CLIENT_PREFIX = "kafkastore."
#: Settings of the client that have the prefix but are the registry's own.
_OWN = frozenset(
    _CLIENT_PREFIX + name
    for name in (
        *("topic", "topic.replication.factor", "timeout.ms", "init.timeout.ms", "group.id"),
        *("connection.url", "write.max.retries", "checkpoint.dir", "checkpoint.version"),
        *("init.wait.for.reader", "topic.skip.validation", "update.handlers"),
    )
)


@dataclass(frozen=True, slots=True)
class RegistryConfig:
    """Everything a registry is told."""

    listeners: str = DEFAULT_LISTENERS
    #: What others reach this registry by; the port is that of the first listener unless given.
    host_name: str = ""
    host_port: int | None = None
    leader_eligibility: bool = True
    #: For our client, under Java's names.
    client: Mapping[str, str] = field(default_factory=dict)
    core: CoreConfig = field(default_factory=CoreConfig)
    log: LogConfig = field(default_factory=LogConfig)
    election: ElectionConfig = field(default_factory=ElectionConfig)
    body_bytes_max: int = 10 * 1024 * 1024
    idle_timeout_ms: int = IDLE_TIMEOUT_MS

    @classmethod
    def from_settings(cls, settings: Mapping[str, str]) -> RegistryConfig:
        """Check the settings; `KafkaError` names the one that cannot be."""
        read = _Reader(settings)
        client = {
            name.removeprefix(_CLIENT_PREFIX): value
            for name, value in settings.items()
            if name.startswith(_CLIENT_PREFIX) and name not in _OWN
        }
        if not client.get("bootstrap.servers", "").strip():
            raise _invalid("kafkastore.bootstrap.servers", "", "it names the brokers, host:port")
        level = read.text(
            "schema.compatibility.level", read.text("avro.compatibility.level", "backward")
        ).upper()
        if level not in LEVELS:
            raise _invalid("schema.compatibility.level", level, "it is one of " + ", ".join(LEVELS))
        port = settings.get("host.port")
        return cls(
            listeners=read.text("listeners", DEFAULT_LISTENERS),
            host_name=read.text("host.name", ""),
            host_port=None if port is None else read.number("host.port", 8081),
            leader_eligibility=read.flag(
                "leader.eligibility", read.flag("master.eligibility", True)
            ),
            client=client,
            core=CoreConfig(
                level,
                read.flag("mode.mutability", True),
                read.flag("schema.validate.new.schemas", True),
            ),
            log=LogConfig(
                read.text("kafkastore.topic", "_schemas"),
                read.number("kafkastore.topic.replication.factor", 3),
                read.number("kafkastore.timeout.ms", 500),
                read.number("kafkastore.init.timeout.ms", 60_000),
            ),
            election=ElectionConfig(
                read.text("schema.registry.group.id", "schema-registry"),
                read.number("kafkagroup.session.timeout.ms", 10_000),
                read.number("kafkagroup.heartbeat.interval.ms", 3_000),
                read.number("kafkagroup.rebalance.timeout.ms", 300_000),
                read.flag("leader.election.sticky", True),
            ),
            body_bytes_max=read.number("size.limit.filter.max.request.body.size", 10 * 1024 * 1024),
            idle_timeout_ms=read.number("idle.timeout.ms", IDLE_TIMEOUT_MS),
        )

    def address(self, port: int) -> tuple[str, int]:
        """Where the other registries reach this one, which listens on `port`."""
        host = self.host_name
        if not host:
            first = self.listeners.split(",")[0]
            given = urlsplit(first.strip()).hostname or ""
            host = given if given not in ("", "0.0.0.0", "::") else socket.gethostname()  # noqa: S104
        return host, self.host_port or port


class _Reader:
    def __init__(self, settings: Mapping[str, str]) -> None:
        self._settings = settings

    def text(self, name: str, default: str) -> str:
        return self._settings.get(name, default).strip()

    def number(self, name: str, default: int) -> int:
        text = self._settings.get(name)
        if text is None:
            return default
        if not text.strip().isdecimal():
            raise _invalid(name, text, "it is a whole number")
        return int(text)

    def flag(self, name: str, default: bool) -> bool:
        text = self._settings.get(name)
        if text is None:
            return default
        if text.strip().lower() not in ("true", "false"):
            raise _invalid(name, text, "it is true or false")
        return text.strip().lower() == "true"


def environment_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """`SCHEMA_REGISTRY_HOST_NAME` is `host.name`: `_` a dot, `__` a dash, `___` an underscore."""
    found = {}
    for variable, value in environment.items():
        if variable.startswith(ENVIRONMENT_PREFIX):
            dotted = variable.removeprefix(ENVIRONMENT_PREFIX).lower().replace("_", ".")
            found[dotted.replace("...", "_").replace("..", "-")] = value
    return found


def _invalid(name: str, value: str, why: str) -> KafkaError:
    return KafkaError(
        ErrorCode.INVALID_CONFIG, f"Invalid value '{value}' for configuration {name}: {why}."
    )
