"""When to make a snapshot of the metadata log, and which old ones may go."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from headrace.metadata.snapshot import SnapshotId


@dataclass(frozen=True, slots=True)
class SnapshotPolicy:
    """Kafka's settings for snapshots and for how long the metadata log is kept."""

    #: `metadata.log.max.record.bytes.between.snapshots`
    bytes_between_max: int = 20_971_520
    #: `metadata.log.max.snapshot.interval.ms`; 0 turns the clock off.
    interval_ms_max: int = 3_600_000
    #: `metadata.max.retention.bytes`; negative keeps all.
    retention_bytes: int = 104_857_600
    #: `metadata.max.retention.ms`; negative keeps all.
    retention_ms: int = 604_800_000

    def is_due(self, new_bytes: int, elapsed_ms: float) -> bool:
        """Whether `new_bytes` of records since the last snapshot call for the next one."""
        if new_bytes >= self.bytes_between_max:
            return True
        return new_bytes > 0 and 0 < self.interval_ms_max <= elapsed_ms


@dataclass(frozen=True, slots=True)
class SnapshotFile:
    """A finished snapshot on the disk."""

    snapshot_id: SnapshotId
    size: int
    last_contained_timestamp_ms: int


def log_start_to_keep(
    snapshots: Sequence[SnapshotFile], log_size: int, now_ms: int, policy: SnapshotPolicy
) -> SnapshotId | None:
    """The snapshot at which the log may begin; everything older may go. None: keep all.

    Snapshots go oldest first, and only while a newer one stands in for what goes with it.
    """
    files = sorted(snapshots, key=lambda file: file.snapshot_id)
    total = log_size + sum(file.size for file in files)
    start: SnapshotId | None = None
    for oldest, following in pairwise(files):
        too_large = 0 <= policy.retention_bytes < total
        too_old = 0 <= policy.retention_ms < now_ms - oldest.last_contained_timestamp_ms
        if not too_large and not too_old:
            break
        total -= oldest.size
        start = following.snapshot_id
    return start
