"""Is every order accounted for, once? The posted orders, compared with all that came of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from examples.orders.catalogue import CATALOGUE
from examples.orders.demo.ledger import Ledger, Value

CHECKS = ["details", "fraud", "inventory"]
#: As in the pipelines.
QUANTITY_MAX = 100
SPENT_CENTS_MAX = 100_000
LATE_AFTER = timedelta(minutes=2)


@dataclass
class Outcome:
    """What the demo saw from the outside."""

    posted: Mapping[str, dict[str, Any]]
    ledger: Ledger
    #: How many mails were sent about each order.
    mails: Mapping[str, int]
    #: What the search view says about each order.
    found: Mapping[str, str]
    #: Words, and how many orders the search found for them.
    searches: Mapping[str, int] = field(default_factory=dict)
    #: Why the load ended before its time.
    load_failure: str | None = None


def problems(outcome: Outcome) -> list[str]:
    """One line for each rule that was broken, with the first orders that break it."""
    return [
        *([outcome.load_failure] if outcome.load_failure else []),
        *_per_order(outcome),
        *_strangers(outcome),
        *_checks(outcome.ledger),
        *_sales(outcome.ledger),
        *_stock(outcome.ledger),
        *_searches(outcome),
    ]


def _per_order(outcome: Outcome) -> Iterator[str]:
    ledger = outcome.ledger
    broken: defaultdict[str, list[str]] = defaultdict(list)
    for order_id, posted in outcome.posted.items():
        events = ledger.orders.get(order_id, [])
        states = [event["state"] for event in events]
        final = states[-1] if states else ""
        validations = ledger.validations.get(order_id, [])
        decisions = ledger.decisions.get(order_id, [])
        fails = sorted(v["reason"] for v in validations if v["outcome"] == "FAIL")
        rules = {
            "were not CREATED and then VALIDATED or FAILED, once each": states
            in (["CREATED", "VALIDATED"], ["CREATED", "FAILED"]),
            "are not in the topic as they were posted": all(
                event[name] == posted[name]
                for event in events
                for name in ("customer", "product", "quantity", "price_cents")
            ),
            "do not have one result of each check": sorted(v["check"] for v in validations)
            == CHECKS,
            "do not have one decision": len(decisions) == 1,
            "have a state that their checks do not give": final
            == ("FAILED" if fails else "VALIDATED"),
            "did not get one mail": outcome.mails.get(order_id, 0) == 1,
            "are not in the search view with their last state": outcome.found.get(order_id)
            == final,
        }
        for rule, holds in rules.items():
            if not holds:
                broken[rule].append(order_id)
    yield from (_line(orders, rule) for rule, orders in broken.items())


def _strangers(outcome: Outcome) -> Iterator[str]:
    ledger = outcome.ledger
    places: dict[str, Collection[str]] = {
        "orders": ledger.orders,
        "order-validations": ledger.validations,
        "order-decisions": ledger.decisions,
        "the mails": outcome.mails,
        "the search view": outcome.found,
    }
    for place, ids in places.items():
        strangers = [order_id for order_id in ids if order_id not in outcome.posted]
        if strangers:
            yield _line(strangers, f"are in {place} and were never posted")


def _checks(ledger: Ledger) -> Iterator[str]:
    """What can be said about the checks without Spark."""
    spent: Counter[tuple[str, datetime]] = Counter()
    wrong = []
    for order_id, validations in ledger.validations.items():
        order = ledger.orders[order_id][0]
        passed = {
            validation["check"]: validation["outcome"] == "PASS" for validation in validations
        }
        product = CATALOGUE.get(order["product"])
        makes_sense = (
            product is not None
            and 1 <= order["quantity"] <= QUANTITY_MAX
            and order["price_cents"] == product.price_cents
        )
        if passed.get("details") != makes_sense:
            wrong.append(order_id)
        if passed.get("fraud"):
            spent[order["customer"], _minute(order["received_at"])] += _cents(order)
    if wrong:
        yield _line(wrong, "have the wrong result of the details check")
    for (customer, minute), cents in spent.items():
        if cents > SPENT_CENTS_MAX:
            yield f"{customer} was let spend {cents / 100:,.2f} in the minute of {minute:%H:%M}."


def _sales(ledger: Ledger) -> Iterator[str]:
    """What Spark counted by the minute, counted again here."""
    revenue: Counter[datetime] = Counter()
    by_product: Counter[tuple[datetime, str]] = Counter()
    late = []
    for order in _valid(ledger):
        if order["received_at"] - order["placed_at"] > LATE_AFTER:
            late.append(order["id"])
            continue
        minute = _minute(min(order["placed_at"], order["received_at"]))
        revenue[minute] += _cents(order)
        by_product[minute, order["product"]] += _cents(order)
    if revenue != {minute: row["revenue_cents"] for minute, row in ledger.sales.items()}:
        yield "The revenue per minute is not that of the valid orders."
    if by_product != {key: row["revenue_cents"] for key, row in ledger.product_sales.items()}:
        yield "The sales of the products are not those of the valid orders."
    if sorted(late) != sorted(row["id"] for rows in ledger.late.values() for row in rows):
        yield f"{len(late)} orders were late, and others are in late-orders."


def _stock(ledger: Ledger) -> Iterator[str]:
    """No more was sold than there was."""
    sold: Counter[str] = Counter()
    for order in _valid(ledger):
        sold[order["product"]] += order["quantity"]
    for product, pieces in sold.items():
        stock = CATALOGUE[product].stock if product in CATALOGUE else 0
        if pieces > stock:
            yield f"{pieces} of {product} were sold, and there were {stock}."


def _searches(outcome: Outcome) -> Iterator[str]:
    for words, count in outcome.searches.items():
        wanted = sum(
            all(
                word in (order["product"], order["state"], order["customer"])
                for word in words.split()
            )
            for order in (events[-1] for events in outcome.ledger.orders.values())
        )
        if count != wanted:
            yield f"A search for '{words}' found {count} orders instead of {wanted}."


def _valid(ledger: Ledger) -> Iterator[Value]:
    for events in ledger.orders.values():
        if events[-1]["state"] == "VALIDATED":
            yield events[-1]


def _minute(moment: datetime) -> datetime:
    return moment.replace(second=0, microsecond=0)


def _cents(order: Value) -> int:
    return int(order["quantity"] * order["price_cents"])


def _line(orders: list[str], rule: str) -> str:
    shown = ", ".join(orders[:3]) + (", ..." if len(orders) > 3 else "")
    return f"{len(orders)} orders {rule}: {shown}."
