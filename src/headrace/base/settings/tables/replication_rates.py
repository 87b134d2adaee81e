"""Throttles of replication: they exist as dynamic broker configs only, never in a file."""

from headrace.base.settings.definition import Setting
from headrace.base.settings.tables.columns import CLUSTER_WIDE, INT64_MAX, LONG, MEDIUM
from headrace.base.settings.validators import at_least

# A table reads best with one setting in two lines, so the formatter stays out.
# fmt: off
SETTINGS: tuple[Setting, ...] = (
    Setting("leader.replication.throttled.rate", LONG, INT64_MAX, MEDIUM,
            "Bytes per second a leader sends to throttled replicas.", at_least(0), CLUSTER_WIDE),
    Setting("follower.replication.throttled.rate", LONG, INT64_MAX, MEDIUM,
            "Bytes per second a throttled follower fetches.", at_least(0), CLUSTER_WIDE),
    Setting("replica.alter.log.dirs.io.max.bytes.per.second", LONG, INT64_MAX, MEDIUM,
            "Bytes per second moved between log directories.", at_least(0), CLUSTER_WIDE),
)
# fmt: on
