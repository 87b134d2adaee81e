"""Reads the log of a coordinator's partition into its state, in steps that let others have turns.

Only the last record of each key counts, exactly as after compaction; so records are first gathered
by key and applied once, in the order of the log, except inside transactions, whose order matters.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from itertools import islice

from headrace.base.errors import KafkaError
from headrace.broker.coordination.gathering import Latest, gather, gather_small, key_values
from headrace.broker.coordination.shard import Shard, ShardState
from headrace.protocol.errors import ProtocolError
from headrace.records.batch import BatchHeader, check_batch, iter_headers
from headrace.records.control import end_txn_marker
from headrace.records.reader import read_checked_batch

logger = logging.getLogger(__name__)

_CHUNK_BYTES = 64 * 1024
#: Records applied in one step at the end.
_APPLIED_AT_ONCE = 500


class Loader:
    """Loads one shard."""

    def __init__(self, shard: Shard, call_soon: Callable[[Callable[[], None]], None]) -> None:
        self._shard = shard
        self._call_soon = call_soon
        self._log = shard.partition.log
        self._offset = self._log.log_start_offset
        self._latest: Latest = {}

    def start(self) -> None:
        self._soon(self._step)

    def _soon(self, step: Callable[[], None]) -> None:
        """Go on after others had their turn, unless somebody else took over meanwhile."""

        def run() -> None:
            if self._shard.state is not ShardState.LOADING:
                return
            try:
                step()
            except KafkaError as error:
                # Half a state must not answer: clients look for a coordinator until it is mended.
                logger.error("%s cannot be loaded: %s", self._log.directory, error.message)
                self._shard.close()

        self._call_soon(run)

    def _step(self) -> None:
        """Read one chunk; at the end of the log, apply what was gathered."""
        end = self._log.log_end_offset
        data = b""
        if self._offset < end:
            data = self._log.read(self._offset, _CHUNK_BYTES, end_offset=end)
        if not data:
            self._apply_gathered(self._shard.activate)
            return
        position = 0
        while position < len(data):
            position, self._offset = gather_small(self._latest, data, position, self._offset)
            found = next(iter_headers(data, position), None)
            if found is None:
                break
            header = found[1]
            if header.is_transactional and len(self._latest) > _APPLIED_AT_ONCE:
                # What came before it has to be applied first, and is too much for one step.
                self._offset = header.base_offset
                self._apply_gathered(self._step)
                return
            self._take(data, *found)
            position += header.size
        self._soon(self._step)

    def _take(self, data: bytes, position: int, header: BatchHeader) -> None:
        """A batch that is not plain: of a transaction, compressed, or not sound."""
        self._offset = header.next_offset
        check_batch(data, position, header)
        if header.is_control:
            self._end_transaction(data, position, header)
        elif header.is_transactional:
            self._flush()
            for key, value in key_values(data, position, header):
                self._apply(key, value, header.producer_id)
        else:
            gather(self._latest, data, position, header)

    def _end_transaction(self, data: bytes, position: int, header: BatchHeader) -> None:
        for record in read_checked_batch(data, position, header):
            marker = end_txn_marker(record)
            if marker is not None:
                self._flush()
                self._shard.coordinator.apply_marker(header.producer_id, marker.committed)

    def _flush(self) -> None:
        latest, self._latest = self._latest, {}
        for key, value in latest.items():
            self._apply(key, value, -1)

    def _apply_gathered(self, then: Callable[[], None]) -> None:
        latest, self._latest = self._latest, {}
        self._apply_some(iter(latest.items()), then)

    def _apply_some(
        self, entries: Iterator[tuple[bytes, bytes | None]], then: Callable[[], None]
    ) -> None:
        count = 0
        for key, value in islice(entries, _APPLIED_AT_ONCE):
            self._apply(key, value, -1)
            count += 1
        if count == _APPLIED_AT_ONCE:
            self._soon(lambda: self._apply_some(entries, then))
        else:
            then()

    def _apply(self, key: bytes, value: bytes | None, producer_id: int) -> None:
        try:
            decoded = self._shard.codec.decode(key, value)
        except ProtocolError as error:
            logger.warning("%s has a record that nobody can read: %s", self._log.directory, error)
            return
        if decoded is not None:
            self._shard.coordinator.apply(decoded[0], decoded[1], producer_id)
