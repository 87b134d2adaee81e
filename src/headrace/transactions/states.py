"""The states of a transactional id and the ways between them, as one table.

    Empty -> Ongoing -> PrepareCommit -> CompleteCommit -> Ongoing, Empty, ...
                     -> PrepareAbort  -> CompleteAbort  -> Ongoing, Empty, ...

Between Prepare and Complete the markers are written. PrepareEpochFence and Dead are never stored:
the first is a fenced producer's transaction on its way to PrepareAbort, the second an id whose
tombstone is being written.
"""

from __future__ import annotations

from enum import IntEnum

from headrace.base.checks import check


class TransactionState(IntEnum):
    """The numbers are those of the transaction log."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    PREPARE_EPOCH_FENCE = 7

    @property
    def label(self) -> str:
        """What Kafka's tools call it: `PrepareCommit`."""
        return self.name.title().replace("_", "")


_S = TransactionState

#: For each state, those that it can follow. A transaction that nothing was added to can be aborted
#: as well: that is how a producer of version 2 gets a new epoch (KIP-890).
PREDECESSORS: dict[TransactionState, frozenset[TransactionState]] = {
    _S.EMPTY: frozenset({_S.EMPTY, _S.COMPLETE_COMMIT, _S.COMPLETE_ABORT}),
    _S.ONGOING: frozenset({_S.ONGOING, _S.EMPTY, _S.COMPLETE_COMMIT, _S.COMPLETE_ABORT}),
    _S.PREPARE_COMMIT: frozenset({_S.ONGOING}),
    _S.PREPARE_ABORT: frozenset(
        {_S.ONGOING, _S.PREPARE_EPOCH_FENCE, _S.EMPTY, _S.COMPLETE_COMMIT, _S.COMPLETE_ABORT}
    ),
    _S.COMPLETE_COMMIT: frozenset({_S.PREPARE_COMMIT}),
    _S.COMPLETE_ABORT: frozenset({_S.PREPARE_ABORT}),
    _S.DEAD: frozenset({_S.EMPTY, _S.COMPLETE_COMMIT, _S.COMPLETE_ABORT}),
    _S.PREPARE_EPOCH_FENCE: frozenset({_S.ONGOING}),
}

#: The end is decided, and markers are being written.
ENDING = frozenset({_S.PREPARE_COMMIT, _S.PREPARE_ABORT})
#: No transaction is open: the id may be initialized, or forgotten.
AT_REST = PREDECESSORS[_S.DEAD]

STATES_BY_LABEL = {state.label: state for state in TransactionState}


def check_transition(
    transactional_id: str, before: TransactionState, after: TransactionState
) -> None:
    """A way that is not in the table is a bug: better no answer than a torn transaction."""
    check(
        before in PREDECESSORS[after],
        f"transactional id {transactional_id!r} cannot go from {before.label} to {after.label}",
    )
