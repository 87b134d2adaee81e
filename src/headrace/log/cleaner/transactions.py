"""Transactions as the cleaner meets them, walking a log from its start.

Data of aborted transactions goes at once. A marker stays as long as any batch of its transaction
does; when none was met, it may go, after the same delay as a tombstone.
"""

from collections.abc import Callable, Iterable

from headrace.log.markers import read_marker
from headrace.log.txn_index import AbortedTxn
from headrace.records.batch import BatchHeader, Buffer


class CleanedTransactions:
    """Which transactions are open at the cleaner's place in the log."""

    __slots__ = ("_aborted", "_ongoing_aborted", "_ongoing_committed", "_waiting", "keep_aborted")

    def __init__(self, aborted: Iterable[AbortedTxn]) -> None:
        #: Those whose first offset the walk has not reached, the next one last.
        self._waiting = sorted(aborted, key=lambda txn: txn.first_offset, reverse=True)
        self._ongoing_aborted: dict[int, AbortedTxn] = {}
        #: Producers with an open aborted transaction of which a batch was met.
        self._aborted: set[int] = set()
        self._ongoing_committed: set[int] = set()
        #: Told of each aborted transaction whose marker stays, for the new transaction index.
        self.keep_aborted: Callable[[AbortedTxn], None] | None = None

    def on_batch(self, header: BatchHeader) -> bool:
        """Note a data batch; True if it belongs to an aborted transaction."""
        self._reach(header.last_offset)
        if not header.is_transactional:
            return False
        if header.producer_id in self._ongoing_aborted:
            self._aborted.add(header.producer_id)
            return True
        self._ongoing_committed.add(header.producer_id)
        return False

    def on_control_batch(self, buffer: Buffer, position: int, header: BatchHeader) -> bool:
        """Note a control batch; True if nothing of its transaction is left to be marked."""
        self._reach(header.last_offset)
        if header.record_count == 0:
            return True  # emptied by an earlier round
        marker = read_marker(buffer, position, header)
        if marker is None:
            return False
        producer_id = header.producer_id
        if marker.commit:
            met = producer_id in self._ongoing_committed
            self._ongoing_committed.discard(producer_id)
            return not met
        aborted = self._ongoing_aborted.pop(producer_id, None)
        if aborted is None or producer_id not in self._aborted:
            return True
        self._aborted.discard(producer_id)
        if self.keep_aborted is not None:
            self.keep_aborted(aborted)
        return False

    def _reach(self, offset: int) -> None:
        waiting = self._waiting
        while waiting and waiting[-1].first_offset <= offset:
            aborted = waiting.pop()
            self._ongoing_aborted.setdefault(aborted.producer_id, aborted)
