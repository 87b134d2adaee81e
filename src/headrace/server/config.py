"""A node's configuration: Kafka's properties read, checked and put into one frozen object.

Every setting's typed value is in `values`; what the composition root needs by name has a field.
`part_configs` turns the values into the small configs of the node's parts.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.settings.broker import BROKER_SETTINGS, without_listener_prefix
from headrace.base.settings.definition import parse_all
from headrace.base.settings.effective import BrokerLayers
from headrace.base.settings.endpoints import (
    Address,
    Voter,
    parse_address,
    parse_bootstrap_servers,
    parse_voters,
)
from headrace.base.settings.tables.headrace import METRICS_LISTENER
from headrace.base.settings.topic import topic_defaults
from headrace.base.settings.typed import Values, integer, members, text
from headrace.server.config_checks import check_rules
from headrace.server.listener_config import (
    ListenerConfig,
    inter_broker_listener_name,
    listener_configs,
)
from headrace.server.properties import Properties, load_properties
from headrace.server.served_checks import check_served

_NOTHING: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class NodeConfig:
    """What one node is told before it starts; nothing in it changes while it runs."""

    node_id: int
    process_roles: frozenset[str]
    rack: str | None
    listeners: tuple[ListenerConfig, ...]
    inter_broker_listener_name: str
    quorum_voters: tuple[Voter, ...]
    quorum_bootstrap_servers: tuple[Address, ...]
    #: Directories are absolute paths here, however `properties` name them: they are compared.
    log_dirs: tuple[str, ...]
    metadata_log_dir: str
    metrics_listener: Address | None
    #: The typed value of every broker setting.
    values: Values
    #: The texts as they were given: the static layer of DescribeConfigs.
    properties: Mapping[str, str]
    #: Sentences for the log; nothing in them keeps the node from starting.
    warnings: tuple[str, ...]

    @classmethod
    def from_properties(cls, properties: Properties) -> "NodeConfig":
        """Read and check; `KafkaError(INVALID_CONFIG)` says what is wrong in one sentence."""
        given = _with_both_ids(properties.values)
        for name in ("process.roles", "node.id", "controller.listener.names"):
            if name not in given:
                message = f'Missing required configuration "{name}" which has no default value.'
                raise KafkaError(ErrorCode.INVALID_CONFIG, message)
        values = parse_all(BROKER_SETTINGS, given)
        _check_one_inter_broker_setting(given)
        listeners = listener_configs(values, given)
        check_rules(values, listeners)
        check_served(values, listeners)
        log_dirs = _absolute(_log_dirs(values))
        return cls(
            node_id=integer(values, "node.id"),
            process_roles=frozenset(members(values, "process.roles")),
            rack=text(values, "broker.rack") or None,
            listeners=listeners,
            inter_broker_listener_name=inter_broker_listener_name(values, listeners),
            quorum_voters=parse_voters(members(values, "controller.quorum.voters")),
            quorum_bootstrap_servers=parse_bootstrap_servers(
                members(values, "controller.quorum.bootstrap.servers")
            ),
            log_dirs=log_dirs,
            metadata_log_dir=os.path.abspath(text(values, "metadata.log.dir") or log_dirs[0]),
            metrics_listener=_metrics_listener(values),
            values=values,
            properties=given,
            warnings=tuple(_warnings(properties, values)),
        )

    @classmethod
    def for_development(
        cls, data_dir: str, port: int = 0, overrides: Mapping[str, str] = _NOTHING
    ) -> "NodeConfig":
        """A node on this machine only, with one replica of everything; port 0 picks a free one."""
        properties = load_properties(defaults=development_properties(data_dir, port))
        for name, value in overrides.items():
            properties.put(name, value, "given in the program")
        return cls.from_properties(properties)

    @property
    def topic_defaults(self) -> dict[str, str]:
        """What a topic gets where it says nothing, before dynamic broker configs."""
        return topic_defaults(self.values)

    def layers(
        self, dynamic_default: Mapping[str, str] = _NOTHING, dynamic: Mapping[str, str] = _NOTHING
    ) -> BrokerLayers:
        """This node's properties below what the cluster's metadata sets for it."""
        return BrokerLayers(self.properties, dynamic_default, dynamic)

    def cordoned(self, values: Values) -> frozenset[str]:
        """The data directories that get no new partitions: one of the settings that may change."""
        named = members(values, "cordoned.log.dirs")
        return frozenset(self.log_dirs if named == ("*",) else _absolute(named))


def data_directories(given: Mapping[str, str]) -> tuple[str, ...]:
    """Where a node keeps its data, whatever else its settings say."""
    settings = {name: BROKER_SETTINGS[name] for name in ("log.dirs", "log.dir")}
    return _log_dirs(parse_all(settings, {one: given[one] for one in settings if one in given}))


def _log_dirs(values: Values) -> tuple[str, ...]:
    return members(values, "log.dirs") or members(values, "log.dir")


def _absolute(paths: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(os.path.abspath(path) for path in paths)


def development_properties(data_dir: str, port: int) -> dict[str, str]:
    """The properties behind `NodeConfig.for_development` and `headrace up`."""
    return {
        "process.roles": "broker,controller",
        "node.id": "1",
        **development_listeners(port),
        "controller.listener.names": "CONTROLLER",
        "log.dirs": data_dir,
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
        "group.initial.rebalance.delay.ms": "0",
    }


def development_listeners(port: int) -> dict[str, str]:
    """Clients on a port of this machine, the controller on the next one."""
    controller = f"127.0.0.1:{port + 1 if port else 0}"
    return {
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://{controller}",
        "controller.quorum.bootstrap.servers": controller,
    }


def _with_both_ids(given: Mapping[str, str]) -> dict[str, str]:
    """`broker.id` and `node.id` are two names of one thing; one given gives both."""
    completed = dict(given)
    if (node_id := given.get("node.id", given.get("broker.id"))) is not None:
        completed.setdefault("node.id", node_id)
        completed.setdefault("broker.id", node_id)
    return completed


def _check_one_inter_broker_setting(given: Mapping[str, str]) -> None:
    if {"inter.broker.listener.name", "security.inter.broker.protocol"} <= given.keys():
        message = (
            "Only one of inter.broker.listener.name and security.inter.broker.protocol"
            " should be set."
        )
        raise KafkaError(ErrorCode.INVALID_CONFIG, message)


def _metrics_listener(values: Values) -> Address | None:
    given = text(values, METRICS_LISTENER)
    if not given:
        return None
    address = parse_address(given)
    if address is None:
        message = f"{METRICS_LISTENER} takes host:port, not '{given}'."
        raise KafkaError(ErrorCode.INVALID_CONFIG, message)
    return address


def _warnings(properties: Properties, values: Values) -> list[str]:
    warnings = [
        f"Unknown property {name} ({properties.origins[name]}) is ignored."
        for name in sorted(properties.values)
        if name not in BROKER_SETTINGS and without_listener_prefix(name) is None
    ]
    heartbeat = integer(values, "broker.heartbeat.interval.ms")
    session = integer(values, "broker.session.timeout.ms")
    if heartbeat > session // 2:
        warnings.append(
            f"broker.heartbeat.interval.ms ({heartbeat} ms) is more than half of"
            f" broker.session.timeout.ms ({session} ms): one lost heartbeat fences a broker."
        )
    return warnings
