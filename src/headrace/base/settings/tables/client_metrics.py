"""Every setting of a client metrics subscription (KIP-714)."""

from headrace.base.settings.definition import Setting
from headrace.base.settings.tables.columns import ANY_LIST, INT, LIST, MEDIUM

# A table reads best with one setting in two lines, so the formatter stays out.
# fmt: off
SETTINGS: tuple[Setting, ...] = (
    Setting("interval.ms", INT, 300_000, MEDIUM,
            "Pause between two pushes of a matching client's metrics."),
    Setting("match", LIST, (), MEDIUM,
            "Which clients are meant, as selector=pattern entries; empty means all.", ANY_LIST),
    Setting("metrics", LIST, (), MEDIUM,
            "Prefixes of the metrics that are wanted; * means all, empty none.", ANY_LIST),
)
# fmt: on
