"""Replicas of partitions: fetching, in-sync sets, leaders."""

from headrace.base.settings.definition import Setting
from headrace.base.settings.tables.columns import (
    BOOLEAN,
    CLUSTER_WIDE,
    HIGH,
    INT,
    LONG,
    MEDIUM,
    STRING,
)
from headrace.base.settings.validators import at_least

# A table reads best with one setting in two lines, so the formatter stays out.
# fmt: off
SETTINGS: tuple[Setting, ...] = (
    Setting("default.replication.factor", INT, 1, MEDIUM,
            "Replicas of a topic that is created without saying how many."),
    Setting("min.insync.replicas", INT, 1, HIGH,
            "Replicas that must have a record before acks=all is answered.",
            at_least(1), CLUSTER_WIDE),
    Setting("unclean.leader.election.enable", BOOLEAN, False, HIGH,
            "Whether a replica that may lack records can lead when no other can.",
            update_mode=CLUSTER_WIDE),
    Setting("unclean.leader.election.interval.ms", LONG, 300_000, MEDIUM,
            "Pause between two searches for partitions to elect uncleanly.",
            at_least(1), internal=True),
    Setting("auto.leader.rebalance.enable", BOOLEAN, True, HIGH,
            "Whether leadership returns to preferred replicas by itself."),
    Setting("leader.imbalance.check.interval.seconds", LONG, 300, HIGH,
            "Pause between two checks for leaders off their preferred replica.", at_least(1)),
    Setting("replica.lag.time.max.ms", LONG, 30_000, HIGH,
            "A follower behind for longer than this leaves the in-sync replicas."),
    Setting("replica.fetch.max.bytes", INT, 1_048_576, MEDIUM,
            "Bytes a follower asks for per partition.", at_least(0)),
    Setting("replica.fetch.min.bytes", INT, 1, HIGH,
            "Bytes a leader gathers before it answers a follower."),
    Setting("replica.fetch.response.max.bytes", INT, 10_485_760, MEDIUM,
            "Bytes a follower asks for in one response.", at_least(0)),
    Setting("replica.fetch.wait.max.ms", INT, 500, HIGH,
            "How long a leader may let a follower wait."),
    Setting("replica.fetch.backoff.ms", INT, 1_000, MEDIUM,
            "Pause of a follower after a failed fetch.", at_least(0)),
    Setting("replica.high.watermark.checkpoint.interval.ms", LONG, 5_000, HIGH,
            "Pause between two writes of the high watermarks."),
    Setting("replica.selector.class", STRING, None, MEDIUM,
            "Class that picks the replica a consumer reads from."),
    Setting("replica.socket.receive.buffer.bytes", INT, 65_536, HIGH,
            "Receive buffer of a follower's connection."),
    Setting("replica.socket.timeout.ms", INT, 30_000, HIGH,
            "How long a follower waits for a leader's answer."),
    Setting("controller.socket.timeout.ms", INT, 30_000, MEDIUM,
            "How long a broker waits for the controller's answer."),
    Setting("num.replica.fetchers", INT, 1, HIGH,
            "Connections a follower opens to each leader.", at_least(1), CLUSTER_WIDE),
    Setting("num.replica.alter.log.dirs.threads", INT, None, HIGH,
            "Partitions that may move between log directories at once."),
    Setting("follower.fetch.last.tiered.offset.enable", BOOLEAN, False, MEDIUM,
            "Whether an empty follower starts at the last offset in tiered storage.",
            update_mode=CLUSTER_WIDE),
)
# fmt: on
