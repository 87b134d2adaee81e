"""Idempotent producers and transactions."""

from headrace.base.settings.definition import Setting
from headrace.base.settings.tables.columns import (
    BOOLEAN,
    CLUSTER_WIDE,
    HIGH,
    INT,
    LOW,
    SHORT,
)
from headrace.base.settings.validators import at_least

# A table reads best with one setting in two lines, so the formatter stays out.
# fmt: off
SETTINGS: tuple[Setting, ...] = (
    Setting("producer.id.expiration.ms", INT, 86_400_000, LOW,
            "How long a producer's sequence numbers are remembered after its last write.",
            at_least(1), CLUSTER_WIDE),
    Setting("producer.id.expiration.check.interval.ms", INT, 600_000, LOW,
            "Pause between two searches for expired producers.", at_least(1), internal=True),
    Setting("transactional.id.expiration.ms", INT, 604_800_000, HIGH,
            "How long an unused transactional id is remembered.", at_least(1)),
    Setting("transaction.max.timeout.ms", INT, 900_000, HIGH,
            "Longest timeout a producer may ask for its transactions.", at_least(1)),
    Setting("transaction.abort.timed.out.transaction.cleanup.interval.ms", INT, 10_000, LOW,
            "Pause between two searches for transactions past their timeout.", at_least(1)),
    Setting("transaction.remove.expired.transaction.cleanup.interval.ms", INT, 3_600_000, LOW,
            "Pause between two removals of expired transactional ids.", at_least(1)),
    Setting("transaction.partition.verification.enable", BOOLEAN, True, LOW,
            "Whether a partition checks that its transaction is open before it appends.",
            update_mode=CLUSTER_WIDE),
    Setting("transaction.two.phase.commit.enable", BOOLEAN, False, LOW,
            "Whether transactions may be prepared for a commit from outside."),
    Setting("transaction.state.log.load.buffer.size", INT, 5_242_880, HIGH,
            "Bytes read at once when transactions are loaded.", at_least(1)),
    Setting("transaction.state.log.min.isr", INT, 2, HIGH,
            "Replicas of the transaction topic that must have a write.", at_least(1)),
    Setting("transaction.state.log.num.partitions", INT, 50, HIGH,
            "Partitions of the transaction topic.", at_least(1)),
    Setting("transaction.state.log.replication.factor", SHORT, 3, HIGH,
            "Replicas of the transaction topic.", at_least(1)),
    Setting("transaction.state.log.segment.bytes", INT, 104_857_600, HIGH,
            "Segment size of the transaction topic.", at_least(1)),
    Setting("add.partitions.to.txn.retry.backoff.ms", INT, 20, HIGH,
            "First pause before a partition is added to a transaction again.", at_least(1)),
    Setting("add.partitions.to.txn.retry.backoff.max.ms", INT, 100, HIGH,
            "Longest pause before a partition is added to a transaction again.", at_least(0)),
)
# fmt: on
