"""Settings of our own, beside Kafka's; their names begin with `headrace.`."""

from headrace.base.settings.definition import Setting
from headrace.base.settings.tables.columns import CLUSTER_WIDE, INT, MEDIUM, STRING
from headrace.base.settings.validators import OneOf, Range

PRODUCE_VALIDATION = "headrace.produce.validation"
METRICS_LISTENER = "headrace.metrics.listener"
BUSY_POLL_US = "headrace.busy.poll.us"

_VALIDATION_DEPTHS = OneOf("header", "deep")
_VALIDATION_DOC = "How far produced batches are checked: their header, or every record as well."

# A table reads best with one setting in two lines, so the formatter stays out.
# fmt: off
SETTINGS: tuple[Setting, ...] = (
    Setting(PRODUCE_VALIDATION, STRING, "header", MEDIUM,
            _VALIDATION_DOC, _VALIDATION_DEPTHS, CLUSTER_WIDE),
    Setting(METRICS_LISTENER, STRING, "", MEDIUM,
            "Where metrics and health are served, as host:port; empty means nowhere."),
    Setting(BUSY_POLL_US, INT, 100, MEDIUM,
            "For how many microseconds a node looks for the next small request before it sleeps,"
            " while requests follow closely upon each other; 0: never.", Range(0, 1_000)),
)

TOPIC_SETTINGS: tuple[Setting, ...] = (
    Setting(PRODUCE_VALIDATION, STRING, "header", MEDIUM,
            _VALIDATION_DOC, _VALIDATION_DEPTHS),
)
# fmt: on
