"""Making snapshots of the metadata log beside the normal work.

Records are encoded a batch at a time between other turns of the loop; the file is written and
synced in a thread. So a cluster with many partitions never waits for its snapshot.
"""

from __future__ import annotations

import asyncio
import logging

from headrace.base.clock import Clock
from headrace.metadata.image import MetadataImage
from headrace.metadata.snapshot import QuorumRecords, SnapshotId, image_batches
from headrace.metadata.snapshot_policy import SnapshotPolicy, log_start_to_keep
from headrace.server.metadata_store import MetadataStore

logger = logging.getLogger(__name__)


class SnapshotMaker:
    """Decides when, and does it."""

    def __init__(
        self, store: MetadataStore, policy: SnapshotPolicy, clock: Clock, *, bytes_so_far: int = 0
    ) -> None:
        self._store = store
        self._policy = policy
        self._clock = clock
        self._bytes = bytes_so_far
        self._since_ms = clock.mono_ms()
        newest = store.snapshots.newest
        #: Of the last snapshot that was written, or else of the one that was there at the start.
        self.latest_bytes = 0 if newest is None else store.snapshots.size_of(newest)
        #: When that was, or else the start.
        self.latest_ms = clock.mono_ms()
        self._task: asyncio.Task[None] | None = None

    def count_bytes(self, count: int) -> None:
        """Note how much the log grew."""
        self._bytes += count

    def make_if_due(self, image: MetadataImage, quorum: QuorumRecords) -> None:
        """Begin a snapshot if the policy asks for one and none is under way."""
        elapsed_ms = self._clock.mono_ms() - self._since_ms
        if self._task is None and self._policy.is_due(self._bytes, elapsed_ms):
            self._task = asyncio.get_running_loop().create_task(self.make(image, quorum))
            self._task.add_done_callback(self._finished)

    async def make(self, image: MetadataImage, quorum: QuorumRecords) -> None:
        """Write a snapshot of an image whose records are all durable."""
        self._bytes, self._since_ms = 0, self._clock.mono_ms()
        snapshot_id = SnapshotId(image.offset + 1, image.epoch)
        if snapshot_id in self._store.snapshots:
            return
        batches = []
        for batch in image_batches(image, self._clock.wall_ms(), quorum):
            batches.append(batch)
            await asyncio.sleep(0)
        written = await asyncio.get_running_loop().run_in_executor(
            None, self._store.snapshots.write, snapshot_id, batches, image.timestamp_ms
        )
        self._store.snapshots.add(written)
        self.latest_bytes, self.latest_ms = written.size, self._clock.mono_ms()
        logger.info("wrote metadata snapshot %s, %d bytes", snapshot_id.file_name, written.size)
        self._clean()

    def _clean(self) -> None:
        now_ms = self._clock.wall_ms()
        files = self._store.snapshots.files
        start = log_start_to_keep(files, self._store.log.size_bytes, now_ms, self._policy)
        if start is not None:
            self._store.delete_before(start, now_ms)

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._task = None
        if not task.cancelled() and task.exception() is not None:
            # The log still has everything; the next snapshot is another chance.
            logger.error("a metadata snapshot failed", exc_info=task.exception())

    async def close(self) -> None:
        """Wait for a snapshot that is under way."""
        if self._task is not None:
            await asyncio.wait([self._task])
