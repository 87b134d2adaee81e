"""Snapshots of the metadata log: the bytes of a `.checkpoint` file, and which files to keep.

A snapshot is a sequence of record batches with offsets of its own: a control batch with the header
(and, from kraft.version 1 on, the voters), the records of the image, a control batch with the
footer. A file without its footer is unfinished and worth nothing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from headrace.base.checks import InvariantBrokenError
from headrace.metadata.image import EMPTY_IMAGE, MetadataImage
from headrace.metadata.image_records import image_records
from headrace.metadata.record_codec import AnyRecord, encode_record
from headrace.metadata.replay import Replayer
from headrace.protocol import compiler
from headrace.protocol.embedded import SnapshotFooterRecord, SnapshotHeaderRecord
from headrace.raft.voters import VoterSet, decode_kraft_version, encode_kraft_version
from headrace.records.batch import Buffer
from headrace.records.builder import build_batch
from headrace.records.control import ControlType, control_batch, control_batch_of, control_type
from headrace.records.record import Record

SUFFIX = ".checkpoint"
PARTIAL_SUFFIX = ".checkpoint.part"
DELETED_SUFFIX = ".checkpoint.deleted"
#: Records of a batch; also the work between two pauses of whoever writes a snapshot.
BATCH_RECORDS_MAX = 512


class SnapshotId(NamedTuple):
    """A snapshot holds all before `offset`; `epoch` is that of the last record in it."""

    offset: int
    epoch: int

    @property
    def file_name(self) -> str:
        return f"{self.offset:020}-{self.epoch:010}{SUFFIX}"


def parse_file_name(name: str) -> SnapshotId | None:
    """The id in the name of a finished snapshot, or None for any other file."""
    stem = name.removesuffix(SUFFIX)
    if stem == name or len(stem) != 31 or stem[20] != "-":
        return None
    if not (stem[:20].isascii() and stem[:20].isdigit() and stem[21:].isdigit()):
        return None
    return SnapshotId(int(stem[:20]), int(stem[21:]))


@dataclass(frozen=True, slots=True)
class QuorumRecords:
    """What Raft itself keeps in the log: the kraft.version and, above 0, the voters."""

    kraft_version: int = 0
    voters: VoterSet | None = None


def snapshot_batches(
    records: Iterator[AnyRecord],
    *,
    epoch: int,
    metadata_version: int,
    last_contained_timestamp_ms: int,
    now_ms: int,
    quorum: QuorumRecords | None = None,
) -> Iterator[bytearray]:
    """The batches of a snapshot, made one by one so that the writer may pause in between."""
    header = SnapshotHeaderRecord(last_contained_log_timestamp=last_contained_timestamp_ms)
    messages = [(ControlType.SNAPSHOT_HEADER, compiler.encode(header, 0))]
    if quorum is not None and quorum.kraft_version > 0:
        messages.append((ControlType.KRAFT_VERSION, encode_kraft_version(quorum.kraft_version)))
        if quorum.voters is not None:
            messages.append((ControlType.KRAFT_VOTERS, quorum.voters.encode()))
    yield control_batch_of(messages, timestamp=now_ms, leader_epoch=epoch)
    offset = len(messages)
    while values := [
        encode_record(record, metadata_version) for record in islice(records, BATCH_RECORDS_MAX)
    ]:
        yield record_batch(values, offset=offset, epoch=epoch, timestamp_ms=now_ms)
        offset += len(values)
    footer = compiler.encode(SnapshotFooterRecord(), 0)
    yield control_batch(
        ControlType.SNAPSHOT_FOOTER,
        footer,
        timestamp=now_ms,
        base_offset=offset,
        leader_epoch=epoch,
    )


def record_batch(
    values: Sequence[bytes], *, offset: int, epoch: int, timestamp_ms: int
) -> bytearray:
    """A batch of metadata records."""
    rows = [Record(offset + n, timestamp_ms, None, value) for n, value in enumerate(values)]
    return build_batch(rows, base_offset=offset, leader_epoch=epoch)


def image_batches(
    image: MetadataImage, now_ms: int, quorum: QuorumRecords | None = None
) -> Iterator[bytearray]:
    """The batches of a snapshot of an image."""
    return snapshot_batches(
        image_records(image),
        epoch=image.epoch,
        metadata_version=image.metadata_version,
        last_contained_timestamp_ms=image.timestamp_ms,
        now_ms=now_ms,
        quorum=quorum,
    )


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot that was read."""

    image: MetadataImage
    quorum: QuorumRecords
    last_contained_timestamp_ms: int


def read_snapshot(data: Buffer, snapshot_id: SnapshotId) -> Snapshot:
    """Build the image in a snapshot file; it must be whole."""
    replayer = Replayer(EMPTY_IMAGE)
    if replayer.replay_batches(data, from_snapshot=True) != len(data):
        raise InvariantBrokenError(f"snapshot {snapshot_id.file_name} ends inside a batch")
    kinds = [control_type(record) for record in replayer.control_records]
    if not kinds or kinds[0] != ControlType.SNAPSHOT_HEADER:
        raise InvariantBrokenError(f"snapshot {snapshot_id.file_name} has no header")
    if kinds[-1] != ControlType.SNAPSHOT_FOOTER:
        raise InvariantBrokenError(f"snapshot {snapshot_id.file_name} has no footer")
    header = compiler.read(SnapshotHeaderRecord, 0, replayer.control_records[0].value or b"")[0]
    replayer.offset = snapshot_id.offset - 1
    replayer.epoch = snapshot_id.epoch
    replayer.timestamp_ms = header.last_contained_log_timestamp
    image, _ = replayer.apply()
    quorum = quorum_records(replayer.control_records)
    return Snapshot(image, quorum, header.last_contained_log_timestamp)


def quorum_records(records: Sequence[Record], before: QuorumRecords | None = None) -> QuorumRecords:
    """The newest kraft.version and voters among control records."""
    before = before or QuorumRecords()
    level, voters = before.kraft_version, before.voters
    for record in records:
        kind = control_type(record)
        if kind == ControlType.KRAFT_VERSION:
            level = decode_kraft_version(record.value or b"")
        elif kind == ControlType.KRAFT_VOTERS:
            voters = VoterSet.decode(record.value or b"")
    return QuorumRecords(level, voters)
