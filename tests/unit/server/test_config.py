import os
from collections.abc import Mapping

import pytest

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.settings.broker import BROKER_SETTINGS
from headrace.base.settings.effective import ConfigSource
from headrace.base.settings.endpoints import Address, Voter
from headrace.server.config import NodeConfig, development_properties
from headrace.server.listener_config import ListenerConfig
from headrace.server.properties import Properties

BASE = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
    "controller.listener.names": "CONTROLLER",
    "controller.quorum.bootstrap.servers": "localhost:9093",
}


def config(changes: Mapping[str, str | None] | None = None) -> NodeConfig:
    """The base configuration with changes; None takes a property away."""
    properties = Properties()
    for name, value in {**BASE, **(changes or {})}.items():
        if value is not None:
            properties.put(name, value, "a test")
    return NodeConfig.from_properties(properties)


def refusal(changes: Mapping[str, str | None]) -> str:
    with pytest.raises(KafkaError) as caught:
        config(changes)
    assert caught.value.code is ErrorCode.INVALID_CONFIG
    return caught.value.message


def test_a_development_node_listens_on_this_machine_only() -> None:
    node = NodeConfig.for_development("/data", 9092, {"num.partitions": "3"})
    assert node.node_id == 1
    assert node.process_roles == {"broker", "controller"}
    assert node.listeners == (
        ListenerConfig("PLAINTEXT", "127.0.0.1", 9092),
        ListenerConfig("CONTROLLER", "127.0.0.1", 9093, for_controller=True),
    )
    assert node.log_dirs == ("/data",)
    assert node.metadata_log_dir == "/data"
    assert node.values["num.partitions"] == 3
    assert node.values["offsets.topic.replication.factor"] == 1
    assert node.warnings == ()


def test_a_development_node_may_pick_its_ports() -> None:
    node = NodeConfig.for_development("/data")
    assert [listener.port for listener in node.listeners] == [0, 0]
    assert "controller.quorum.bootstrap.servers" in development_properties("/data", 0)


def test_listeners_carry_what_clients_are_told() -> None:
    node = config(
        {
            "listeners": "LAN://0.0.0.0:9092,wan://[::]:9094,CONTROLLER://:9093",
            "advertised.listeners": "WAN://broker.example.com:19094",
            "listener.security.protocol.map": "LAN:PLAINTEXT,WAN:plaintext,CONTROLLER:PLAINTEXT",
            "inter.broker.listener.name": "lan",
        }
    )
    lan, wan, controller = node.listeners
    assert (lan.host, lan.port, lan.advertised_host) == ("0.0.0.0", 9092, None)
    assert (wan.host, wan.port) == ("::", 9094)
    assert (wan.advertised_host, wan.advertised_port) == ("broker.example.com", 19094)
    assert controller.host is None
    assert controller.for_controller
    assert node.inter_broker_listener_name == "LAN"


def test_one_port_may_serve_ipv4_and_ipv6() -> None:
    both = {"listeners": "PLAINTEXT://127.0.0.1:9092,CONTROLLER://[::1]:9092"}
    assert [listener.host for listener in config(both).listeners] == ["127.0.0.1", "::1"]


def test_directories_come_from_log_dirs_or_else_log_dir() -> None:
    assert config({"log.dir": "/one"}).log_dirs == ("/one",)
    node = config({"log.dir": "/one", "log.dirs": "/a, /b", "metadata.log.dir": "/m"})
    assert node.log_dirs == ("/a", "/b")
    assert node.metadata_log_dir == "/m"
    node = config({"log.dirs": "/a,/b", "cordoned.log.dirs": "*"})
    assert node.cordoned(node.values) == {"/a", "/b"}


def test_directories_are_compared_as_absolute_paths_and_described_as_they_were_typed() -> None:
    typed = {"log.dirs": "/a/,b", "cordoned.log.dirs": "/a/", "metadata.log.dir": "/c/../a"}
    node = config(typed)
    assert node.log_dirs == ("/a", os.path.abspath("b"))
    assert node.cordoned(node.values) == {"/a"}
    assert node.metadata_log_dir == "/a"
    assert config({"log.dirs": "/a/"}).metadata_log_dir == "/a"
    assert {name: node.properties[name] for name in typed} == typed


def test_the_quorum_is_given_by_voters_or_bootstrap_servers() -> None:
    assert config().quorum_bootstrap_servers == (Address("localhost", 9093),)
    node = config(
        {
            "controller.quorum.bootstrap.servers": None,
            "controller.quorum.voters": "1@localhost:9093",
        }
    )
    assert node.quorum_voters == (Voter(1, Address("localhost", 9093)),)


def test_broker_id_is_another_name_of_node_id() -> None:
    node = config({"node.id": None, "broker.id": "7"})
    assert node.node_id == 7
    assert node.properties["node.id"] == "7"


def test_topics_get_the_brokers_values_in_their_own_units() -> None:
    node = config({"log.retention.hours": "1", "message.max.bytes": "5000"})
    assert node.topic_defaults["retention.ms"] == "3600000"
    assert node.topic_defaults["max.message.bytes"] == "5000"


def test_the_file_is_the_static_layer_of_described_configs() -> None:
    layers = config({"max.connections": "9"}).layers({"max.connections": "8"})
    sources = [synonym.source for synonym in layers.synonyms("max.connections")]
    assert sources[:2] == [
        ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG,
        ConfigSource.STATIC_BROKER_CONFIG,
    ]


def test_the_metrics_port_is_off_unless_asked_for() -> None:
    assert config().metrics_listener is None
    node = config({"headrace.metrics.listener": "127.0.0.1:9404"})
    assert node.metrics_listener == Address("127.0.0.1", 9404)
    assert refusal({"headrace.metrics.listener": "9404"}) == (
        "headrace.metrics.listener takes host:port, not '9404'."
    )


def test_unknown_properties_are_warned_about_with_their_origin_but_not_their_value() -> None:
    node = config({"log.retenton.hours": "geheim", "listener.name.a.max.connections": "4"})
    assert node.warnings == ("Unknown property log.retenton.hours (a test) is ignored.",)


def test_limits_on_connections_can_be_narrowed_to_a_listener() -> None:
    node = config(
        {
            "max.connections": "90",
            "listener.name.controller.max.connections": "5",
            "listener.name.controller.max.connection.creation.rate": "7",
        }
    )
    limits = {
        listener.name: (listener.connections_max, listener.creation_rate_max)
        for listener in node.listeners
    }
    assert limits["CONTROLLER"] == (5, 7)
    assert {limits[name] for name in limits if name != "CONTROLLER"} == {(90, 2**31 - 1)}


def test_a_narrowed_limit_is_checked_like_the_wide_one() -> None:
    with pytest.raises(KafkaError, match=r"max\.connections"):
        config({"listener.name.controller.max.connections": "many"})


def test_a_heartbeat_close_to_the_session_timeout_is_warned_about() -> None:
    (warning,) = config({"broker.heartbeat.interval.ms": "5000"}).warnings
    assert "more than half of broker.session.timeout.ms (9000 ms)" in warning


REFUSALS: list[tuple[dict[str, str | None], str]] = [
    (
        {"process.roles": None, "node.id": None},
        'Missing required configuration "process.roles" which has no default value.',
    ),
    (
        {"node.id": None},
        'Missing required configuration "node.id" which has no default value.',
    ),
    ({"broker.id": "3"}, "You must set `node.id` to the same value as `broker.id`."),
    (
        {"process.roles": "foo"},
        (
            "Invalid value foo for configuration process.roles: String must be one of: broker,"
            " controller"
        ),
    ),
    (
        {"controller.quorum.bootstrap.servers": None},
        (
            "If using process.roles, either controller.quorum.bootstrap.servers must contain the"
            " set of bootstrap controllers or controller.quorum.voters must contain a parseable"
            " set of controllers."
        ),
    ),
    (
        {"controller.quorum.voters": "2@localhost:9093"},
        (
            "If process.roles contains the 'controller' role, the node id 1 must be included in the"
            " set of voters controller.quorum.voters={2}"
        ),
    ),
    (
        {"process.roles": "broker"},
        (
            "controller.listener.names must not contain a value appearing in the 'listeners'"
            " configuration when running KRaft with just the broker role"
        ),
    ),
    (
        {"listeners": "CONTROLLER://:9093"},
        (
            "There must be at least one broker advertised listener."
            " Perhaps all listeners appear in controller.listener.names?"
        ),
    ),
    (
        {"listeners": "PLAINTEXT://:9092"},
        (
            "controller.listener.names must contain at least one value appearing in the 'listeners'"
            " configuration when running the KRaft controller role"
        ),
    ),
    (
        {"listeners": "PLAINTEXT://:9092,CONTROLLER://:9092"},
        (
            "Error creating broker listeners from '[PLAINTEXT://:9092, CONTROLLER://:9092]':"
            " Each listener must have a different port unless exactly one listener has an IPv4"
            " address and the other IPv6 address,"
            " listeners: [PLAINTEXT://:9092, CONTROLLER://:9092], port: 9092"
        ),
    ),
    (
        {"listeners": "PLAINTEXT://:9092,PLAINTEXT://:9093"},
        (
            "Error creating broker listeners from '[PLAINTEXT://:9092, PLAINTEXT://:9093]':"
            " Each listener must have a different name,"
            " listeners: [PLAINTEXT://:9092, PLAINTEXT://:9093]"
        ),
    ),
    (
        {"listeners": "PLAINTEXT:9092,CONTROLLER://:9093"},
        (
            "Error creating broker listeners from '[PLAINTEXT:9092, CONTROLLER://:9093]':"
            " Unable to parse PLAINTEXT:9092 to a broker endpoint"
        ),
    ),
    (
        {"listeners": "LAN://:9092,CONTROLLER://:9093"},
        (
            "Error creating broker listeners from '[LAN://:9092, CONTROLLER://:9093]':"
            " No security protocol defined for listener LAN"
        ),
    ),
    (
        {"listener.security.protocol.map": "PLAINTEXT:TLS"},
        "Invalid security protocol `TLS` defined in listener.security.protocol.map",
    ),
    (
        {"inter.broker.listener.name": "CONTROLLER"},
        (
            "inter.broker.listener.name must be a listener name defined in advertised.listeners."
            " The valid options based on currently configured listeners are PLAINTEXT"
        ),
    ),
    (
        {"inter.broker.listener.name": "A", "security.inter.broker.protocol": "SSL"},
        "Only one of inter.broker.listener.name and security.inter.broker.protocol should be set.",
    ),
    (
        {"advertised.listeners": "PLAINTEXT://0.0.0.0:9092"},
        (
            "advertised.listeners cannot use the nonroutable meta-address 0.0.0.0."
            " Use a routable IP address."
        ),
    ),
    (
        {"advertised.listeners": "PLAINTEXT://a:9092,SSL://a:9094"},
        (
            "advertised.listeners listener names must be equal to or a subset of the ones defined"
            " in listeners. Found PLAINTEXT,SSL. The valid options based on the current"
            " configuration are PLAINTEXT,CONTROLLER"
        ),
    ),
    (
        {"early.start.listeners": "LAN"},
        (
            "early.start.listeners contains listener LAN, but this is not contained in listeners or"
            " controller.listener.names"
        ),
    ),
    ({"log.roll.ms": "0"}, "log.roll.ms must be greater than or equal to 1"),
    (
        {"log.retention.minutes": "0"},
        "log.retention.ms must be unlimited (-1) or, greater than or equal to 1",
    ),
    ({"log.dirs": "/a,,/b"}, "Configuration 'log.dirs' values must not be empty."),
    (
        {"log.cleaner.threads": "200"},
        "log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread.",
    ),
    (
        {"cordoned.log.dirs": "/b", "log.dirs": "/a"},
        (
            "All entries in cordoned.log.dirs must be present in log.dirs or log.dir."
            " Missing entries : /b"
        ),
    ),
    (
        {"replica.fetch.wait.max.ms": "40000"},
        (
            "replica.socket.timeout.ms should always be at least replica.fetch.wait.max.ms to"
            " prevent unnecessary socket timeouts"
        ),
    ),
    (
        {"queued.max.request.bytes": "5"},
        "queued.max.request.bytes must be larger or equal to socket.request.max.bytes",
    ),
    (
        {"max.connections.per.ip": "0"},
        (
            "max.connections.per.ip can be set to zero only if max.connections.per.ip.overrides"
            " property is set."
        ),
    ),
    (
        {"max.connections.per.ip.overrides": "127.0.0.1:many"},
        "max.connections.per.ip.overrides has no number for 127.0.0.1: many",
    ),
    (
        {"connections.max.idle.ms": "50"},
        (
            "connection.failed.authentication.delay.ms=100 should always be less than"
            " connections.max.idle.ms=50 to prevent failed authentication responses from timing out"
        ),
    ),
    (
        {"group.coordinator.rebalance.protocols": "consumer"},
        "Disabling the 'classic' protocol is not supported.",
    ),
    ({"offsets.topic.compression.codec": "9"}, "Unknown compression type id: 9"),
    (
        {"group.consumer.session.timeout.ms": "5"},
        (
            "group.consumer.session.timeout.ms must be greater than or equal to"
            " group.consumer.min.session.timeout.ms"
        ),
    ),
]


@pytest.mark.parametrize(("changes", "message"), REFUSALS, ids=lambda value: str(value)[:60])
def test_what_kafka_refuses_is_refused_with_its_sentence(
    changes: dict[str, str | None], message: str
) -> None:
    assert refusal(changes) == message


#: Each kind of class that GAPS.md names, with what Kafka takes there.
JAVA_CLASSES = {
    "client.quota.callback.class": "org.example.Quotas",
    "principal.builder.class": "org.example.Principals",
    "security.providers": "org.example.Providers",
    "config.providers": "env",
    "metric.reporters": "org.apache.kafka.common.metrics.JmxReporter,org.example.Metrics",
    "kafka.metrics.reporters": "org.example.OldMetrics",
}


@pytest.mark.parametrize(("name", "value"), JAVA_CLASSES.items())
def test_a_java_class_keeps_the_node_from_starting(name: str, value: str) -> None:
    assert refusal({name: value}) == (
        f"Invalid value {value} for configuration {name}: Java classes cannot be loaded here."
    )


@pytest.mark.parametrize("name", JAVA_CLASSES)
def test_kafkas_own_class_or_none_at_all_is_fine(name: str) -> None:
    default = BROKER_SETTINGS[name].default_text
    config({name: default})
    if not name.endswith(".class"):
        config({name: ""})


NOT_SERVED: list[tuple[dict[str, str | None], str]] = [
    (
        {"process.roles": "broker", "listeners": "PLAINTEXT://:9092"},
        (
            "This version runs broker and controller in one process:"
            " set process.roles=broker,controller."
        ),
    ),
    (
        {"controller.quorum.voters": "1@a:9093,2@b:9093,3@c:9093"},
        "This version is a quorum of one, but controller.quorum.voters names 3.",
    ),
    (
        {
            "listeners": "PLAINTEXT://:9092,SSL://:9094,CONTROLLER://:9093",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SSL:SSL,CONTROLLER:PLAINTEXT",
        },
        "Listener SSL uses SSL, which this version does not serve yet; use PLAINTEXT.",
    ),
    (
        {"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer"},
        "This version does not check who may do what yet; remove authorizer.class.name.",
    ),
    (
        {"remote.log.storage.system.enable": "true"},
        "This version has no tiered storage yet; remove remote.log.storage.system.enable.",
    ),
    (
        {"create.topic.policy.class.name": "org.example.Policy"},
        (
            "Invalid value org.example.Policy for configuration create.topic.policy.class.name:"
            " Java classes cannot be loaded here."
        ),
    ),
]


@pytest.mark.parametrize(("changes", "message"), NOT_SERVED, ids=lambda value: str(value)[:60])
def test_what_this_version_cannot_do_is_said_before_the_start(
    changes: dict[str, str | None], message: str
) -> None:
    assert refusal(changes) == message
