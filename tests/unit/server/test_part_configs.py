from headrace.base.settings.effective import BrokerLayers
from headrace.broker.config import BrokerConfig
from headrace.log.log_registry import LogManagerConfig
from headrace.metadata.snapshot_policy import SnapshotPolicy
from headrace.server.config import NodeConfig
from headrace.server.connection_limits import ConnectionLimits
from headrace.server.part_configs import (
    broker_config,
    connection_limits,
    log_manager_config,
    maintenance_config,
    metadata_config,
    socket_options,
)
from headrace.server.sockets import SocketOptions

PLAIN = NodeConfig.for_development("/data", 9092)


def test_without_properties_the_parts_have_their_own_defaults() -> None:
    assert connection_limits(PLAIN.values) == ConnectionLimits()
    assert log_manager_config(PLAIN.values) == LogManagerConfig()
    assert broker_config(PLAIN, "") == BrokerConfig()
    assert metadata_config(PLAIN).snapshots == SnapshotPolicy()


def test_limits_of_connections_follow_their_properties() -> None:
    node = NodeConfig.for_development(
        "/data",
        9092,
        {
            "max.connections.per.ip.overrides": "127.0.0.1:5, ::1:6",
            "connections.max.idle.ms": "-1",
            "socket.request.max.bytes": "1000",
            "queued.max.request.bytes": "5000",
        },
    )
    limits = connection_limits(node.values)
    assert limits.connections_per_ip_overrides == {"127.0.0.1": 5, "::1": 6}
    assert limits.frame_size_max == 1000
    assert limits.queued_bytes_max == 5000
    assert limits.idle_ms_max > 10**15


def test_sockets_are_left_to_the_system_unless_somebody_asks() -> None:
    names = ("socket.send.buffer.bytes", "socket.receive.buffer.bytes")
    given = {**dict.fromkeys(names, "65536"), "socket.listen.backlog.size": "9"}
    assert socket_options(PLAIN) == SocketOptions()
    asked = NodeConfig.for_development("/data", 9092, given)
    assert socket_options(asked) == SocketOptions(65536, 65536, 9)
    left = NodeConfig.for_development("/data", 9092, dict.fromkeys(names, "-1"))
    assert socket_options(left) == SocketOptions()


def test_parts_can_be_asked_again_after_a_dynamic_change() -> None:
    layers = PLAIN.layers(dynamic_default={"max.connections": "7"})
    assert connection_limits(layers.values()).connections_max == 7


def test_the_broker_knows_what_to_advertise_and_where_it_stands() -> None:
    node = NodeConfig.for_development(
        "/data",
        9092,
        {
            "advertised.listeners": "PLAINTEXT://example.com:19092",
            "broker.rack": "r1",
        },
    )
    config = broker_config(node, "cluster")
    assert config.advertised_address("PLAINTEXT") == ("example.com", 19092)
    assert config.advertised_address("CONTROLLER") is None
    assert (config.rack, config.cluster_id) == ("r1", "cluster")


def test_listeners_on_every_interface_have_no_host_unless_one_is_advertised() -> None:
    listeners = "A://0.0.0.0:1,B://:2,C://:3,D://10.0.0.1:4,CONTROLLER://:5"
    given = {
        "listeners": listeners,
        "advertised.listeners": "A://example.com:1",
        "listener.security.protocol.map": ",".join(f"{one}:PLAINTEXT" for one in "ABCD")
        + ",CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "A",
    }
    node = NodeConfig.for_development("/data", 9092, given)
    assert broker_config(node, "c").without_host == {"B", "C", "CONTROLLER"}


def test_a_node_without_voters_is_its_own_quorum() -> None:
    assert metadata_config(PLAIN).voter_ids == (1,)
    assert metadata_config(PLAIN).data_directory == "/data"


def test_maintenance_runs_at_kafkas_intervals() -> None:
    config = maintenance_config(BrokerLayers(static=PLAIN.properties).values())
    assert config.retention_check_interval_ms == 300_000
    assert config.high_watermark_checkpoint_interval_ms == 5_000
    assert config.cleaner_backoff_ms == 15_000
