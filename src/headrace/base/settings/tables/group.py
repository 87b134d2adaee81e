"""Every setting of a group resource (Kafka 4.3): consumer, share and streams groups."""

import re

from headrace.base.settings.definition import Setting
from headrace.base.settings.tables.columns import BOOLEAN, INT, MEDIUM, STRING
from headrace.base.settings.validators import OneOf, at_least
from headrace.base.settings.values import Value, invalid_value


def share_auto_offset_reset(name: str, value: Value) -> None:
    """`latest`, `earliest`, or `by_duration:` with an ISO 8601 duration that is not negative."""
    text = str(value)
    kind, colon, duration = text.partition(":")
    if text in ("latest", "earliest") or (kind == "by_duration" and colon and _lasts(duration)):
        return
    reason = (
        f"Invalid value `{text}` for configuration {name}. The value must be either"
        " 'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'."
    )
    raise invalid_value(name, text, reason)


def _lasts(duration: str) -> bool:
    pattern = r"\+?P(?=.)(\d+D)?(T(?=.)(\d+H)?(\d+M)?(\d+([.,]\d{0,9})?S)?)?"
    return re.fullmatch(pattern, duration, re.IGNORECASE) is not None


# A table reads best with one setting in two lines, so the formatter stays out.
# fmt: off
SETTINGS: tuple[Setting, ...] = (
    Setting("consumer.assignment.interval.ms", INT, 1_000, MEDIUM,
            "Shortest time between two assignments of the consumer group.", at_least(0)),
    Setting("consumer.heartbeat.interval.ms", INT, 5_000, MEDIUM,
            "Pause between two heartbeats of a consumer.", at_least(1)),
    Setting("consumer.session.timeout.ms", INT, 45_000, MEDIUM,
            "A consumer without a heartbeat for this long leaves the group.", at_least(1)),
    Setting("share.assignment.interval.ms", INT, 1_000, MEDIUM,
            "Shortest time between two assignments of the share group.", at_least(0)),
    Setting("share.auto.offset.reset", STRING, "latest", MEDIUM,
            "Where a share group starts: latest, earliest, or by_duration:PnDTnHnMn.nS back.",
            share_auto_offset_reset),
    Setting("share.delivery.count.limit", INT, 5, MEDIUM,
            "Times a record is delivered before it is given up.", at_least(2)),
    Setting("share.heartbeat.interval.ms", INT, 5_000, MEDIUM,
            "Pause between two heartbeats of a share consumer.", at_least(1)),
    Setting("share.isolation.level", STRING, "read_uncommitted", MEDIUM,
            "Whether a share group sees records of open transactions.",
            OneOf("read_committed", "read_uncommitted")),
    Setting("share.partition.max.record.locks", INT, 2_000, MEDIUM,
            "Records of a partition that may be in delivery at once.", at_least(100)),
    Setting("share.record.lock.duration.ms", INT, 30_000, MEDIUM,
            "How long a delivered record is held for its consumer.", at_least(1_000)),
    Setting("share.renew.acknowledge.enable", BOOLEAN, True, MEDIUM,
            "Whether a consumer may extend its hold on a record."),
    Setting("share.session.timeout.ms", INT, 45_000, MEDIUM,
            "A share consumer without a heartbeat for this long leaves the group.", at_least(1)),
    Setting("streams.assignment.interval.ms", INT, 1_000, MEDIUM,
            "Shortest time between two assignments of the streams group.", at_least(0)),
    Setting("streams.heartbeat.interval.ms", INT, 5_000, MEDIUM,
            "Pause between two heartbeats of a streams member.", at_least(1)),
    Setting("streams.initial.rebalance.delay.ms", INT, 3_000, MEDIUM,
            "How long the streams group waits for further members at first.", at_least(0)),
    Setting("streams.num.standby.replicas", INT, 0, MEDIUM,
            "Standby copies of each task's state.", at_least(0)),
    Setting("streams.session.timeout.ms", INT, 45_000, MEDIUM,
            "A streams member without a heartbeat for this long leaves the group.", at_least(1)),
)
# fmt: on
