"""A run that would write what another run has written is told apart from one that goes on."""

from __future__ import annotations

import pytest

from headrace.client.groups_offsets import CommittedOffset
from headrace.spark.errors import PipelineError
from headrace.spark.exactly_once_offsets import metadata_for
from headrace.spark.exactly_once_rivals import check_alone

_HERE = ("orders", 0)


def committed(offset: int, metadata: str) -> dict[tuple[str, int], CommittedOffset]:
    return {_HERE: CommittedOffset(offset, metadata=metadata)}


@pytest.mark.parametrize(
    ("offset", "metadata", "start"),
    [
        (10, metadata_for("ours", 3), {_HERE: 5}),  # the batch that was committed last is ours
        (10, metadata_for("theirs", 3), {_HERE: 10}),  # we go on where they ended
        (10, "", {_HERE: 5}),  # somebody moved the group: the runner's business
        (10, '{"batch": 3}', {_HERE: 5}),
        (10, "no json", {_HERE: 5}),
    ],
)
def test_nobody_has_gone_on(offset: int, metadata: str, start: dict[tuple[str, int], int]) -> None:
    check_alone(committed(offset, metadata), start, {"orders"}, "ours", "g", "p")


@pytest.mark.parametrize("start", [{_HERE: 9}, {}])
def test_another_query_that_went_on_is_told_with_the_way_out(
    start: dict[tuple[str, int], int],
) -> None:
    theirs = committed(10, metadata_for("theirs", 3))
    with pytest.raises(PipelineError, match=r"stands at offset 10 of orders-0; .* reset p --state"):
        check_alone(theirs, start, {"orders"}, "ours", "g", "p")
    with pytest.raises(PipelineError, match="a group of its own"):
        check_alone(theirs, start, {"orders"}, "ours", "g", None)


def test_a_topic_that_is_read_no_more_is_nobodys_business() -> None:
    theirs = committed(10, metadata_for("theirs", 3))
    check_alone(theirs, {}, {"payments"}, "ours", "g", "p")
