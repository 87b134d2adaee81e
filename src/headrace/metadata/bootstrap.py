"""`bootstrap.checkpoint`: the first records of a cluster, as `storage format` leaves them.

The first leader of the metadata log copies them into the log; after that nobody reads them.
"""

from collections.abc import Mapping, Sequence

from headrace.base.checks import InvariantBrokenError
from headrace.metadata.features import (
    ELR_VERSION,
    LATEST_METADATA_VERSION,
    METADATA_VERSION,
    default_levels,
)
from headrace.metadata.image import ConfigResource
from headrace.metadata.record_codec import AnyRecord, decode_record
from headrace.metadata.records import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    ConfigRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
)
from headrace.metadata.snapshot import snapshot_batches
from headrace.records.batch import Buffer, check_batch, iter_headers
from headrace.records.reader import read_checked_batch

FILE_NAME = "bootstrap.checkpoint"
TRANSACTION_NAME = "Bootstrap records"
MIN_INSYNC_REPLICAS = "min.insync.replicas"


def feature_records(levels: Mapping[str, int]) -> list[AnyRecord]:
    """One record per feature, metadata.version first; level 0 is left out, as by Kafka."""
    names = [METADATA_VERSION, *(name for name in sorted(levels) if name != METADATA_VERSION)]
    return [
        FeatureLevelRecord(name=name, feature_level=levels[name]) for name in names if levels[name]
    ]


def default_bootstrap_records() -> list[AnyRecord]:
    """What a cluster of the newest version begins with."""
    return feature_records(default_levels())


def encode_bootstrap(records: Sequence[AnyRecord], now_ms: int) -> bytes:
    """The content of the file."""
    return b"".join(
        snapshot_batches(
            iter(records),
            epoch=0,
            metadata_version=LATEST_METADATA_VERSION,
            last_contained_timestamp_ms=0,
            now_ms=now_ms,
        )
    )


def decode_bootstrap(data: Buffer) -> list[AnyRecord]:
    """The records of the file."""
    records: list[AnyRecord] = []
    end = 0
    for position, header in iter_headers(data):
        check_batch(data, position, header)
        end = position + header.size
        if not header.is_control:
            records.extend(
                decode_record(record.value or b"")
                for record in read_checked_batch(data, position, header)
            )
    if end != len(data):
        raise InvariantBrokenError(f"{FILE_NAME} ends inside a batch")
    if not any(isinstance(r, FeatureLevelRecord) and r.name == METADATA_VERSION for r in records):
        raise InvariantBrokenError(f"{FILE_NAME} names no metadata.version")
    return records


def activation_records(
    bootstrap: Sequence[AnyRecord], min_insync_replicas: int, *, aborts_partial: bool
) -> list[AnyRecord]:
    """What the first leader of an empty log writes, as one metadata transaction.

    A leader that died in the middle left an open transaction, which is then aborted first.
    """
    records: list[AnyRecord] = []
    if aborts_partial:
        records.append(AbortTransactionRecord(reason="Controller failover"))
    records.append(BeginTransactionRecord(name=TRANSACTION_NAME))
    records.extend(bootstrap)
    if any(isinstance(r, FeatureLevelRecord) and r.name == ELR_VERSION for r in bootstrap):
        # Eligible leader replicas rest on this number, so all controllers must agree on it.
        records.append(
            ConfigRecord(
                resource_type=ConfigResource.BROKER,
                resource_name="",
                name=MIN_INSYNC_REPLICAS,
                value=str(min_insync_replicas),
            )
        )
    records.append(EndTransactionRecord())
    return records
