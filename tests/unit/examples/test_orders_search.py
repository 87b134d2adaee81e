"""The search view of the order example."""

from pathlib import Path
from typing import Any

import pytest

from examples.orders.search import SearchView


@pytest.fixture
def view(tmp_path: Path) -> SearchView:
    view = SearchView(str(tmp_path / "search.db"))
    view.create()
    return view


def order(order_id: str, product: str, state: str = "CREATED", reason: str = "") -> dict[str, Any]:
    rest = {"customer": "ann", "quantity": 1, "price_cents": 1}
    return {"id": order_id, "product": product, "state": state, "reason": reason, **rest}


def found(view: SearchView, text: str) -> list[tuple[str, str]]:
    return [(row["id"], row["state"]) for row in view.find(text)]


def test_orders_are_found_by_all_their_words_the_latest_first(view: SearchView) -> None:
    view.put([order("a", "green tea"), order("b", "black tea"), order("c", "bread")])
    assert found(view, "tea") == [("b", "CREATED"), ("a", "CREATED")]
    assert found(view, "tea green") == [("a", "CREATED")]
    assert [order_id for order_id, _ in found(view, "")] == ["c", "b", "a"]
    assert view.count() == 3


def test_an_order_is_found_under_its_last_state_only(view: SearchView) -> None:
    view.put([order("a", "tea")])
    view.put([order("a", "tea", "FAILED", "sold out")])
    assert found(view, "CREATED") == []
    assert found(view, "sold failed") == [("a", "FAILED")]


def test_a_state_that_is_seen_again_does_not_undo_a_later_one(view: SearchView) -> None:
    view.put([order("a", "tea"), order("a", "tea", "VALIDATED")])
    view.put([order("a", "tea")])
    assert found(view, "tea") == [("a", "VALIDATED")]
    assert view.count() == 1


@pytest.mark.parametrize("text", ['"', "tea*", "NOT", "a AND", "(", "product:tea", "-", "'"])
def test_signs_of_the_search_language_are_only_text(view: SearchView, text: str) -> None:
    view.put([order("a", "bread")])
    assert found(view, text) == []
