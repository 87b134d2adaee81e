"""Settings of our own, beside Kafka's; their names begin with `headrace.`."""

from headrace.base.settings.definition import Setting
from headrace.base.settings.tables.columns import CLUSTER_WIDE, MEDIUM, STRING
from headrace.base.settings.validators import OneOf

PRODUCE_VALIDATION = "headrace.produce.validation"
METRICS_LISTENER = "headrace.metrics.listener"

_VALIDATION_DEPTHS = OneOf("header", "deep")
_VALIDATION_DOC = "How far produced batches are checked: their header, or every record as well."

# A table reads best with one setting in two lines, so the formatter stays out.
# fmt: off
SETTINGS: tuple[Setting, ...] = (
    Setting(PRODUCE_VALIDATION, STRING, "header", MEDIUM,
            _VALIDATION_DOC, _VALIDATION_DEPTHS, CLUSTER_WIDE),
    Setting(METRICS_LISTENER, STRING, "", MEDIUM,
            "Where metrics and health are served, as host:port; empty means nowhere."),
)

TOPIC_SETTINGS: tuple[Setting, ...] = (
    Setting(PRODUCE_VALIDATION, STRING, "header", MEDIUM,
            _VALIDATION_DOC, _VALIDATION_DEPTHS),
)
# fmt: on
