"""Claims and leases: who may write what within one transaction."""

from __future__ import annotations

import pytest

from headrace.spark.exactly_once_ledger import Message, WriterLedger

A, B = ("t", 0), ("t", 1)
GO: Message = {"go": True}


def lease(partition: tuple[str, int], sequence: int) -> Message:
    return {"lease": [*partition, sequence]}


def test_the_first_attempt_of_each_task_goes() -> None:
    ledger = WriterLedger()
    assert ledger.claim(1, 0) == [(1, GO)]
    assert ledger.claim(2, 1) == [(2, GO)]
    assert not ledger.is_complete()
    assert ledger.done(1, 0, 10) == [(1, {"ok": True})]
    assert ledger.done(2, 1, 20) == [(2, {"ok": True})]
    assert ledger.is_complete()
    assert ledger.records == {0: 10, 1: 20}


def test_a_speculative_copy_waits_and_has_nothing_to_do_when_the_first_is_done() -> None:
    ledger = WriterLedger()
    ledger.claim(1, 0)
    assert ledger.claim(2, 0) == []
    assert ledger.done(1, 0, 7) == [(1, {"ok": True}), (2, {"done": 7})]
    assert ledger.is_complete()


def test_an_attempt_after_the_first_was_done_takes_over_its_result() -> None:
    ledger = WriterLedger()
    ledger.claim(1, 0)
    ledger.done(1, 0, 7)
    assert ledger.closed(1) == []
    assert ledger.claim(2, 0) == [(2, {"done": 7})]
    assert ledger.is_complete()


def test_a_waiting_copy_that_is_killed_harms_nobody() -> None:
    ledger = WriterLedger()
    ledger.claim(1, 0)
    ledger.claim(2, 0)
    assert ledger.closed(2) == []
    assert ledger.done(1, 0, 7) == [(1, {"ok": True})]
    assert ledger.is_complete()


def test_a_task_that_is_lost_while_it_writes_fails_the_transaction_for_all() -> None:
    ledger = WriterLedger()
    for connection in (1, 2, 3):
        ledger.claim(connection, connection)
    ledger.claim(4, 1)
    failed = {"failed": "Task 1 was lost while it wrote."}
    assert ledger.closed(1) == [(2, failed), (3, failed), (4, failed)]
    assert ledger.worth_a_retry
    assert not ledger.is_complete()
    assert ledger.claim(5, 1) == [(5, failed)]
    assert ledger.acquire(2, [A]) == [(2, failed)]
    assert ledger.done(3, 3, 1) == [(3, failed)]
    assert not ledger.is_complete()


def test_an_error_that_a_task_tells_is_not_tried_again() -> None:
    ledger = WriterLedger()
    ledger.claim(1, 0)
    ledger.fail("Partition 7 is not there.", worth_a_retry=False)
    ledger.closed(1)
    assert ledger.failure == "Partition 7 is not there."
    assert not ledger.worth_a_retry


def test_sequences_go_on_from_one_holder_of_a_lease_to_the_next() -> None:
    ledger = WriterLedger()
    for connection in (1, 2, 3):
        ledger.claim(connection, connection)
    assert ledger.acquire(1, [A, B]) == [(1, lease(A, 0)), (1, lease(B, 0))]
    assert ledger.acquire(2, [A]) == []
    assert ledger.acquire(3, [B, A]) == []
    assert ledger.release(1, A, 5) == [(2, lease(A, 5))]
    assert ledger.release(2, A, 9) == [(3, lease(A, 9))]
    assert ledger.release(1, B, 2) == [(3, lease(B, 2))]
    assert ledger.release(3, A, 10) == []
    assert ledger.acquire(1, [A]) == [(1, lease(A, 10))]
    assert ledger.partitions == {A, B}


@pytest.mark.parametrize("sequence", [-1, 1 << 31])
def test_a_sequence_that_cannot_be_fails_the_transaction(sequence: int) -> None:
    ledger = WriterLedger()
    ledger.claim(1, 0)
    ledger.acquire(1, [A])
    ledger.release(1, A, sequence)
    assert ledger.failure is not None


def test_nobody_can_give_back_or_finish_what_is_not_his() -> None:
    for step in ("release", "done"):
        ledger = WriterLedger()
        ledger.claim(1, 0)
        ledger.claim(2, 1)
        ledger.acquire(1, [A])
        if step == "release":
            ledger.release(2, A, 3)
        else:
            ledger.done(2, 0, 3)
        assert ledger.failure is not None
        assert not ledger.is_complete()
