"""The table of states."""

from __future__ import annotations

from itertools import product

import pytest

from headrace.base.checks import InvariantBrokenError
from headrace.transactions.states import (
    AT_REST,
    ENDING,
    PREDECESSORS,
    STATES_BY_LABEL,
    TransactionState,
    check_transition,
)
from headrace.transactions.transaction import Transaction

S = TransactionState


def test_every_state_has_a_row_and_a_name_of_kafkas() -> None:
    assert set(PREDECESSORS) == set(TransactionState)
    assert list(STATES_BY_LABEL) == [
        "Empty",
        "Ongoing",
        "PrepareCommit",
        "PrepareAbort",
        "CompleteCommit",
        "CompleteAbort",
        "Dead",
        "PrepareEpochFence",
    ]


def test_a_way_that_is_not_in_the_table_stops_everything() -> None:
    for before, after in product(TransactionState, TransactionState):
        if before in PREDECESSORS[after]:
            check_transition("t", before, after)
        else:
            with pytest.raises(InvariantBrokenError, match=f"{before.label} to {after.label}"):
                check_transition("t", before, after)


def test_a_decision_leads_to_its_own_end_only() -> None:
    followers = {
        state: {after for after in TransactionState if state in PREDECESSORS[after]}
        for state in TransactionState
    }
    assert followers[S.PREPARE_COMMIT] == {S.COMPLETE_COMMIT}
    assert followers[S.PREPARE_ABORT] == {S.COMPLETE_ABORT}
    assert followers[S.DEAD] == set()
    assert ENDING.isdisjoint(AT_REST)


def test_a_commit_cannot_begin_from_rest() -> None:
    for state in AT_REST:
        resting = Transaction("t", 1, 0, 1000, state=state)
        with pytest.raises(InvariantBrokenError):
            resting.prepared(True, 2, -1, now_ms=5)
        assert resting.prepared(False, 2, -1, now_ms=5).state is S.PREPARE_ABORT
