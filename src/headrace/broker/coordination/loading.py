"""Reads the log of a coordinator's partition into its state, in steps that let others have turns.

Only the last record of each key counts, exactly as after compaction; so records are first gathered
by key and applied once, in the order of the log, except inside transactions, whose order matters.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from itertools import islice

from headrace.base.errors import KafkaError
from headrace.broker.coordination.shard import Shard, ShardState
from headrace.protocol.errors import ProtocolError
from headrace.records.batch import HEADER_SIZE, BatchHeader, check_batch, iter_headers
from headrace.records.codecs import Codec
from headrace.records.control import end_txn_marker
from headrace.records.reader import read_checked_batch, unpack_records
from headrace.records.walk import walk

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
        self._latest: dict[bytes, bytes | None] = {}
        self.records_read = 0

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
            latest, self._latest = self._latest, {}
            self._apply_some(iter(latest.items()))
            return
        for position, header in iter_headers(data):
            self._offset = header.next_offset
            check_batch(data, position, header)
            if header.is_control:
                self._end_transaction(data, position, header)
            elif header.is_transactional:
                self._flush()
                for key, value in _records(data, position, header):
                    self._apply(key, value, header.producer_id)
            else:
                self._gather(_records(data, position, header))
            self.records_read += header.record_count
        self._soon(self._step)

    def _gather(self, records: Iterator[tuple[bytes, bytes | None]]) -> None:
        latest = self._latest
        for key, value in records:
            # Taken out first, so that it comes after all that was written before it.
            latest.pop(key, None)
            latest[key] = value

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

    def _apply_some(self, entries: Iterator[tuple[bytes, bytes | None]]) -> None:
        count = 0
        for key, value in islice(entries, _APPLIED_AT_ONCE):
            self._apply(key, value, -1)
            count += 1
        if count == _APPLIED_AT_ONCE:
            self._soon(lambda: self._apply_some(entries))
        else:
            self._shard.activate()

    def _apply(self, key: bytes, value: bytes | None, producer_id: int) -> None:
        try:
            decoded = self._shard.codec.decode(key, value)
        except ProtocolError as error:
            logger.warning("%s has a record that nobody can read: %s", self._log.directory, error)
            return
        if decoded is not None:
            self._shard.coordinator.apply(decoded[0], decoded[1], producer_id)


def _records(
    data: bytes, position: int, header: BatchHeader
) -> Iterator[tuple[bytes, bytes | None]]:
    """Keys and values of a batch; there may be millions, so no more is made of them."""
    start, end = position + HEADER_SIZE, position + header.size
    if header.codec != Codec.NONE:
        data = unpack_records(data, position, header)
        start, end = 0, len(data)
    for _, _, key, key_size, value, value_size, _, _ in walk(data, start, end, header):
        if key_size >= 0:
            body = None if value_size < 0 else data[value : value + value_size]
            yield data[key : key + key_size], body
