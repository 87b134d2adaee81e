"""What Kafka demands between the settings of a node, each rule with one clear sentence."""

import re
from collections.abc import Iterable
from itertools import pairwise

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.settings.endpoints import parse_bootstrap_servers, parse_voters
from headrace.base.settings.group import GROUP_LIMITS
from headrace.base.settings.typed import Values, integer, members, optional_integer
from headrace.server.connection_limits import overrides_per_ip
from headrace.server.listener_config import ListenerConfig

_ADDRESS = re.compile(r"[0-9a-zA-Z\-%._:]+")
_MEGABYTE = 1 << 20
_COMPRESSION_TYPES = range(5)


def check_rules(values: Values, listeners: Iterable[ListenerConfig]) -> None:
    """Raise `KafkaError(INVALID_CONFIG)` for the first rule of Kafka that is broken."""
    require(
        values["broker.id"] in (-1, values["node.id"]),
        "You must set `node.id` to the same value as `broker.id`.",
    )
    _check_quorum(values)
    _check_roles(values, tuple(listeners))
    _check_log(values)
    _check_replication(values)
    _check_network(values)
    _check_groups(values)


def _check_quorum(values: Values) -> None:
    voters = {voter.node_id for voter in parse_voters(members(values, "controller.quorum.voters"))}
    servers = parse_bootstrap_servers(members(values, "controller.quorum.bootstrap.servers"))
    require(
        bool(voters or servers),
        "If using process.roles, either controller.quorum.bootstrap.servers must contain the set"
        " of bootstrap controllers or controller.quorum.voters must contain a parseable set of"
        " controllers.",
    )
    node_id, roles = values["node.id"], members(values, "process.roles")
    shown = "{" + ", ".join(map(str, sorted(voters))) + "}"
    if "controller" in roles:
        require(
            not voters or node_id in voters,
            f"If process.roles contains the 'controller' role, the node id {node_id} must be"
            f" included in the set of voters controller.quorum.voters={shown}",
        )
    else:
        require(
            node_id not in voters,
            f"If process.roles contains just the 'broker' role, the node id {node_id} must not be"
            f" included in the set of voters controller.quorum.voters={shown}",
        )


def _check_roles(values: Values, listeners: tuple[ListenerConfig, ...]) -> None:
    roles = members(values, "process.roles")
    for_controller = [listener.name for listener in listeners if listener.for_controller]
    for_broker = [listener.name for listener in listeners if not listener.for_controller]
    named = [name.upper() for name in members(values, "controller.listener.names")]
    if "controller" in roles:
        require(
            bool(for_controller),
            "controller.listener.names must contain at least one value appearing in the"
            " 'listeners' configuration when running the KRaft controller role",
        )
        require(
            set(named) <= set(for_controller),
            "controller.listener.names must only contain values appearing in the 'listeners'"
            " configuration when running the KRaft controller role",
        )
    else:
        require(
            not for_controller,
            "controller.listener.names must not contain a value appearing in the 'listeners'"
            " configuration when running KRaft with just the broker role",
        )
    if "broker" in roles:
        require(
            bool(for_broker),
            "There must be at least one broker advertised listener."
            " Perhaps all listeners appear in controller.listener.names?",
        )
    else:
        require(
            not for_broker,
            "The listeners config must only contain KRaft controller listeners from"
            " controller.listener.names when process.roles=controller",
        )
    known = {listener.name for listener in listeners}.union(named)
    for name in members(values, "early.start.listeners"):
        require(
            name.upper() in known,
            f"early.start.listeners contains listener {name}, but this is not contained in"
            " listeners or controller.listener.names",
        )


def _check_log(values: Values) -> None:
    _at_least(values, "log.roll.ms", 1)
    _at_least(values, "log.roll.jitter.ms", 0)
    zero = ("log.retention.ms", "log.retention.minutes", "log.retention.hours")
    retention = next(values[name] for name in zero if values[name] is not None)
    require(
        retention != 0, "log.retention.ms must be unlimited (-1) or, greater than or equal to 1"
    )
    threads = max(1, integer(values, "log.cleaner.threads"))
    require(
        integer(values, "log.cleaner.dedupe.buffer.size") // threads > _MEGABYTE,
        "log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread.",
    )
    cordoned = members(values, "cordoned.log.dirs")
    if "*" in cordoned:
        message = "When cordoned.log.dirs is set to *, it must not contain other values"
        require(len(cordoned) == 1, message)
        return
    missing = set(cordoned).difference(members(values, "log.dirs") or members(values, "log.dir"))
    require(
        not missing,
        "All entries in cordoned.log.dirs must be present in log.dirs or log.dir."
        f" Missing entries : {', '.join(sorted(missing))}",
    )


def _check_replication(values: Values) -> None:
    wait = integer(values, "replica.fetch.wait.max.ms")
    require(
        wait <= integer(values, "replica.socket.timeout.ms"),
        "replica.socket.timeout.ms should always be at least replica.fetch.wait.max.ms"
        " to prevent unnecessary socket timeouts",
    )
    require(
        wait <= integer(values, "replica.lag.time.max.ms"),
        "replica.fetch.wait.max.ms should always be less than or equal to"
        " replica.lag.time.max.ms to prevent frequent changes in ISR",
    )


def _check_network(values: Values) -> None:
    queued = integer(values, "queued.max.request.bytes")
    require(
        queued <= 0 or queued >= integer(values, "socket.request.max.bytes"),
        "queued.max.request.bytes must be larger or equal to socket.request.max.bytes",
    )
    name = "max.connections.per.ip.overrides"
    overrides = overrides_per_ip(values)
    invalid = [address for address in overrides if not _ADDRESS.fullmatch(address)]
    require(not invalid, f"{name} contains invalid addresses : {','.join(invalid)}")
    require(
        bool(values["max.connections.per.ip"] or overrides),
        f"max.connections.per.ip can be set to zero only if {name} property is set.",
    )
    delay = integer(values, "connection.failed.authentication.delay.ms")
    idle = integer(values, "connections.max.idle.ms")
    require(
        idle < 0 or delay < idle,
        f"connection.failed.authentication.delay.ms={delay} should always be less than"
        f" connections.max.idle.ms={idle} to prevent failed authentication responses from"
        " timing out",
    )


def _check_groups(values: Values) -> None:
    require(
        "classic" in members(values, "group.coordinator.rebalance.protocols"),
        "Disabling the 'classic' protocol is not supported.",
    )
    for name in (
        "offsets.topic.compression.codec",
        "share.coordinator.state.topic.compression.codec",
    ):
        codec = values[name]
        require(codec in _COMPRESSION_TYPES, f"Unknown compression type id: {codec}")
    for setting, limits in GROUP_LIMITS.items():
        rising = [name for name in (limits.low, f"group.{setting}", limits.high) if name]
        for lower, higher in pairwise(rising):
            require(
                integer(values, lower) <= integer(values, higher),
                f"{higher} must be greater than or equal to {lower}",
            )
    for kind in ("consumer", "share", "streams"):
        heartbeat = f"group.{kind}.heartbeat.interval.ms"
        session = f"group.{kind}.session.timeout.ms"
        require(
            integer(values, heartbeat) < integer(values, session),
            f"{heartbeat} must be less than {session}",
        )
    require(
        integer(values, "group.share.max.share.sessions")
        >= integer(values, "group.share.max.size"),
        "group.share.max.share.sessions must be greater than or equal to group.share.max.size",
    )


def _at_least(values: Values, name: str, low: int) -> None:
    value = optional_integer(values, name)
    require(value is None or value >= low, f"{name} must be greater than or equal to {low}")


def require(holds: bool, message: str) -> None:
    """Kafka's sentence, unless the rule holds."""
    if not holds:
        raise KafkaError(ErrorCode.INVALID_CONFIG, message)
