"""What a batch is called, so that its replay has the same name and nothing else has."""

from dataclasses import dataclass, field
from typing import Any

from headrace.spark.stores.batches import Batch, current_batch


@dataclass
class FakeSession:
    """The local properties of a thread, as Spark's session gives them."""

    properties: dict[str, str] = field(default_factory=dict)

    @property
    def sparkContext(self) -> Any:  # noqa: N802 - Spark's name
        return self

    def getLocalProperty(self, name: str) -> str | None:  # noqa: N802 - Spark's name
        return self.properties.get(name)


def of_query(query_id: str, batch_id: int, name: str = "") -> FakeSession:
    described = f"{name}\nid = {query_id}" if name else f"id = {query_id}\nrunId = 1"
    return FakeSession(
        {
            "sql.streaming.queryId": query_id,
            "streaming.sql.batchId": str(batch_id),
            "spark.job.description": described,
        }
    )


def test_a_streaming_batch_is_known_by_the_id_in_its_checkpoint() -> None:
    assert current_batch(of_query("uuid-1", 7, "orders"), None, 7) == Batch("uuid-1", 7, "orders")
    assert current_batch(of_query("uuid-1", 7), None, None) == Batch("uuid-1", 7, "query")


def test_two_outputs_of_one_query_are_told_apart_by_their_names() -> None:
    early = current_batch(of_query("uuid-1", 7), "early", 7)
    late = current_batch(of_query("uuid-1", 7), "late", 7)
    assert early is not None
    assert late is not None
    assert early.query != late.query
    assert early.slug != late.slug


def test_a_new_checkpoint_is_another_query_whatever_it_is_called() -> None:
    before = current_batch(of_query("uuid-1", 0, "orders"), "orders", 0)
    after = current_batch(of_query("uuid-2", 0, "orders"), "orders", 0)
    assert before is not None
    assert after is not None
    assert before.query != after.query
    assert before.slug != after.slug


def test_outside_a_query_a_batch_has_a_name_only_if_it_is_given_one() -> None:
    assert current_batch(FakeSession(), None, None) is None
    assert current_batch(FakeSession(), "nightly", None) is None
    assert current_batch(FakeSession(), "nightly", 3) == Batch("nightly", 3, "nightly")


def test_a_slug_is_a_plain_file_name() -> None:
    slug = Batch("../../etc:1", 0, "Ord ers/€ =x").slug
    assert slug.startswith("Ord-ers-x-")
    assert Batch("a/b", 0, "a-b").slug != Batch("a-b", 0, "a-b").slug
