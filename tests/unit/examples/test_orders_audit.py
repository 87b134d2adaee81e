"""The demo's audit: it finds what is missing, doubled or wrong, and nothing else."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from examples.orders.demo.audit import CHECKS, Outcome, problems
from examples.orders.demo.ledger import Ledger
from examples.orders.topics import DECISIONS, LATE_ORDERS, ORDERS, SALES, VALIDATIONS

NOON = datetime(2026, 11, 16, 12, 0, 30, tzinfo=UTC)


@dataclass
class Run:
    """What a run leaves behind, made by hand."""

    ledger: Ledger = field(default_factory=Ledger)
    posted: dict[str, dict[str, Any]] = field(default_factory=dict)
    mails: Counter[str] = field(default_factory=Counter)
    found: dict[str, str] = field(default_factory=dict)

    def order(self, order_id: str, *, fails: str = "", late: bool = False, **changes: Any) -> None:
        """An order that has been through everything."""
        posted = {"customer": "ann", "product": "tea", "quantity": 2, "price_cents": 760, **changes}
        self.posted[order_id] = posted
        times = {"received_at": NOON, "placed_at": NOON - timedelta(minutes=5 if late else 0)}
        order = {"id": order_id, "state": "CREATED", "reason": "", **posted, **times}
        state = "FAILED" if fails else "VALIDATED"
        self.ledger.take(ORDERS, order)
        for check in CHECKS:
            self.validation(order_id, check, "FAIL" if check == fails else "PASS")
        self.ledger.take(DECISIONS, {"order_id": order_id, "state": state, "reason": fails})
        self.ledger.take(ORDERS, {**order, "state": state, "reason": fails})
        if late and not fails:
            self.ledger.take(LATE_ORDERS, {**order, "state": state})
        self.mails[order_id] += 1
        self.found[order_id] = state

    def validation(self, order_id: str, check: str, outcome: str) -> None:
        value = {"order_id": order_id, "check": check, "outcome": outcome, "reason": check}
        self.ledger.take(VALIDATIONS, value)

    def sales(self, cents: int) -> None:
        minute = NOON.replace(second=0)
        for product in (None, "tea"):
            row = {"minute": minute, "product": product, "orders": 1, "revenue_cents": cents}
            self.ledger.take(SALES, row)

    def problems(self, **searches: int) -> list[str]:
        return problems(Outcome(self.posted, self.ledger, self.mails, self.found, searches))


@pytest.fixture
def run() -> Run:
    """A good order, one that failed, and one that came late."""
    run = Run()
    run.order("good")
    run.order("bad", fails="fraud")
    run.order("late", late=True)
    run.sales(1520)
    return run


def test_a_run_in_which_everything_happened_once_is_well(run: Run) -> None:
    assert run.problems(tea=3) == []


def test_an_order_that_was_lost_is_named(run: Run) -> None:
    run.posted["lost"] = run.posted["good"]
    assert "1 orders do not have one decision: lost." in run.problems()


def test_a_second_decision_is_found(run: Run) -> None:
    run.ledger.take(DECISIONS, {"order_id": "good", "state": "VALIDATED", "reason": ""})
    assert run.problems() == ["1 orders do not have one decision: good."]


def test_a_second_result_of_a_check_is_found(run: Run) -> None:
    run.validation("good", "fraud", "PASS")
    assert run.problems() == ["1 orders do not have one result of each check: good."]


def test_an_order_that_nobody_posted_is_found(run: Run) -> None:
    del run.posted["good"]
    assert "1 orders are in the mails and were never posted: good." in run.problems()


def test_a_second_mail_is_found(run: Run) -> None:
    run.mails["good"] += 1
    assert run.problems() == ["1 orders did not get one mail: good."]


def test_a_search_view_that_lags_behind_is_found(run: Run) -> None:
    run.found["bad"] = "CREATED"
    (found,) = run.problems()
    assert found == "1 orders are not in the search view with their last state: bad."


def test_a_search_that_finds_too_little_is_found(run: Run) -> None:
    assert run.problems(bread=0, tea=2) == ["A search for 'tea' found 2 orders instead of 3."]


def test_revenue_that_counts_an_order_twice_is_found(run: Run) -> None:
    run.sales(3040)
    assert len(run.problems()) == 2


def test_a_late_order_that_is_set_aside_twice_is_found(run: Run) -> None:
    run.ledger.take(LATE_ORDERS, run.ledger.orders["late"][-1])
    assert run.problems() == ["1 orders were late, and others are in late-orders."]


def test_an_order_that_should_have_failed_its_details_is_found(run: Run) -> None:
    run.order("free", late=True, price_cents=1)
    assert run.problems() == ["1 orders have the wrong result of the details check: free."]


def test_selling_more_than_there_is_is_found(run: Run) -> None:
    for number in range(41):
        run.order(f"truffle-{number}", late=True, product="truffles", quantity=1, price_cents=9900)
    assert "41 of truffles were sold, and there were 40." in run.problems()


def test_a_customer_who_spends_too_much_in_a_minute_is_found(run: Run) -> None:
    run.order("much", late=True, product="cheese", quantity=80, price_cents=1290)
    assert run.problems() == ["ann was let spend 1,062.40 in the minute of 12:00."]


def test_the_ledger_is_settled_once_every_order_is_counted(run: Run) -> None:
    assert run.ledger.is_settled(3)
    assert not run.ledger.is_settled(4)
    run.order("next")
    assert not run.ledger.is_settled(4)
