"""The files of the metadata log: `__cluster_metadata-0` with its log, snapshots and quorum-state.

Everything here touches the disk and nothing decides anything; `metadata_plane` does that.
"""

import os
from dataclasses import dataclass
from typing import Protocol

from headrace.base.checks import InvariantBrokenError
from headrace.base.errors import KafkaError
from headrace.base.uuids import METADATA_TOPIC_ID
from headrace.log.append import AppendOrigin
from headrace.log.config import LogConfig
from headrace.log.loading import create_log, load_log
from headrace.log.open_files import OpenFiles
from headrace.log.partition_log import PartitionLog
from headrace.log.text_files import replace_text_file
from headrace.metadata import bootstrap, snapshot
from headrace.metadata.image import EMPTY_IMAGE, MetadataImage
from headrace.metadata.record_codec import AnyRecord
from headrace.metadata.replay import Replayer, Transaction
from headrace.metadata.snapshot import QuorumRecords, SnapshotId
from headrace.raft.quorum_state import ElectionState, decode_quorum_state, encode_quorum_state
from headrace.server.metadata_snapshot_files import SnapshotFiles

TOPIC = "__cluster_metadata"
DIRECTORY = f"{TOPIC}-0"
QUORUM_STATE = "quorum-state"
#: The largest batch in the metadata log (Kafka's limit).
BATCH_BYTES_MAX = 8 * 1024 * 1024
_READ_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class LoadedMetadata:
    """What the disk says when a node starts."""

    image: MetadataImage
    #: A metadata transaction whose leader died before its end.
    transaction: Transaction | None
    quorum: QuorumRecords
    #: False if the voters are known from `storage format` only.
    log_has_voters: bool
    election: ElectionState
    #: False for a cluster that nobody has led yet.
    has_records: bool
    #: Bytes of the log behind the newest snapshot.
    bytes_after_snapshot: int


class Flushing(Protocol):
    """A flush of the log: `run` in any thread, `finish` where it was begun."""

    def run(self) -> None: ...
    def finish(self) -> None: ...


class MetadataStore:
    """Owns the metadata directory of one node."""

    log: PartitionLog

    def __init__(
        self, data_directory: str, files: OpenFiles, *, segment_bytes: int, segment_ms: int
    ) -> None:
        self.data_directory = data_directory
        self.directory = os.path.join(data_directory, DIRECTORY)
        self.snapshots = SnapshotFiles(self.directory)
        self._files = files
        self._config = LogConfig(
            max_message_bytes=BATCH_BYTES_MAX,
            segment_bytes=segment_bytes,
            segment_ms=segment_ms,
            # Snapshots decide what may go, not age or size.
            retention_ms=-1,
            retention_bytes=-1,
        )

    def load(self, *, clean: bool, now_ms: int) -> LoadedMetadata:
        """Read the newest snapshot and what the log has behind it."""
        self.snapshots.find()
        newest = self.snapshots.newest
        image, quorum = EMPTY_IMAGE, QuorumRecords()
        if newest is not None:
            loaded = self.snapshots.read(newest)
            image, quorum = loaded.image, loaded.quorum
        start_offset = image.offset + 1
        self._open_log(clean=clean, start_offset=start_offset, now_ms=now_ms)
        replayer = Replayer(image)
        replayed = self._replay(replayer, start_offset)
        written = snapshot.quorum_records(replayer.control_records)
        quorum = snapshot.quorum_records(replayer.control_records, quorum)
        image, _ = replayer.apply()
        return LoadedMetadata(
            image,
            replayer.transaction,
            quorum,
            start_offset > 0 or written.voters is not None,
            self._read_election(),
            has_records=bool(image.features or image.brokers or image.topics_by_id),
            bytes_after_snapshot=replayed,
        )

    def _open_log(self, *, clean: bool, start_offset: int, now_ms: int) -> None:
        if not os.path.isdir(self.directory) or not _has_log(self.directory):
            os.makedirs(self.data_directory, exist_ok=True)
            self.log = self._create_log(start_offset, now_ms)
            return
        try:
            self.log = load_log(
                self.directory,
                TOPIC,
                0,
                config=self._config,
                files=self._files,
                now_ms=now_ms,
                clean=clean,
                # A snapshot is only ever made of what was flushed before.
                recovery_point=start_offset,
                log_start_offset=0,
            )
        except KafkaError as error:
            raise InvariantBrokenError(str(error)) from error
        if self.log.log_start_offset > start_offset:
            raise InvariantBrokenError(
                f"{self.directory}: the log begins at {self.log.log_start_offset}, and no snapshot"
                " has what came before"
            )
        if self.log.log_end_offset < start_offset:
            # The snapshot outlived the log behind it: go on from the snapshot.
            self.log.truncate_fully_at(start_offset, now_ms)

    def _create_log(self, start_offset: int, now_ms: int) -> PartitionLog:
        # `storage format --standalone` leaves a directory with nothing but a snapshot.
        kept = os.listdir(self.directory) if os.path.isdir(self.directory) else []
        aside = self.directory + ".new"
        log = create_log(
            aside if kept else self.directory,
            TOPIC,
            0,
            topic_id=METADATA_TOPIC_ID,
            config=self._config,
            files=self._files,
            now_ms=now_ms,
            start_offset=start_offset,
        )
        if kept:
            for name in kept:
                os.replace(os.path.join(self.directory, name), os.path.join(aside, name))
            os.rmdir(self.directory)
            log.rename_directory(self.directory)
        return log

    def _replay(self, replayer: Replayer, offset: int) -> int:
        total = 0
        while offset < self.log.log_end_offset:
            data = self.log.read(offset, _READ_BYTES, end_offset=self.log.log_end_offset)
            try:
                taken = replayer.replay_batches(data)
            except KafkaError as error:
                raise InvariantBrokenError(f"{self.directory}: {error}") from error
            if taken == 0:
                raise InvariantBrokenError(f"{self.directory}: no batch at offset {offset}")
            total += taken
            offset = replayer.offset + 1
        return total

    # Writing the log

    def append(self, batch: bytearray, epoch: int, now_ms: int) -> int:
        """Append one batch to the page cache; returns its first offset."""
        result = self.log.append_as_leader(
            batch, leader_epoch=epoch, now_ms=now_ms, origin=AppendOrigin.RAFT_LEADER
        )
        return result.base_offset

    def begin_flush(self, now_ms: int) -> Flushing:
        return self.log.begin_flush(now_ms)

    def close(self, *, clean: bool) -> None:
        self.log.close(clean)

    # The other files

    def read_bootstrap(self) -> list[AnyRecord]:
        """What `storage format` left for the cluster's first leader."""
        path = os.path.join(self.data_directory, bootstrap.FILE_NAME)
        try:
            with open(path, "rb") as file:
                return bootstrap.decode_bootstrap(file.read())
        except FileNotFoundError:
            return bootstrap.default_bootstrap_records()

    def save_election(self, state: ElectionState, kraft_version: int) -> None:
        """Write quorum-state; it is on the disk when this returns."""
        path = os.path.join(self.directory, QUORUM_STATE)
        replace_text_file(path, encode_quorum_state(state, kraft_version), sync=True)

    def _read_election(self) -> ElectionState:
        path = os.path.join(self.directory, QUORUM_STATE)
        try:
            with open(path, encoding="utf-8") as file:
                return decode_quorum_state(file.read())
        except FileNotFoundError:
            return ElectionState()
        except ValueError as error:
            raise InvariantBrokenError(f"{path}: {error}") from error

    def delete_before(self, snapshot_id: SnapshotId, now_ms: int) -> None:
        """Let go of all snapshots and segments that `snapshot_id` makes needless."""
        self.log.delete_records_before(snapshot_id.offset)
        self.log.retain(now_ms, self.log.log_end_offset)
        self.log.delete_due_files(now_ms)
        self.snapshots.delete_before(snapshot_id)


def _has_log(directory: str) -> bool:
    return any(name.endswith(".log") for name in os.listdir(directory))
