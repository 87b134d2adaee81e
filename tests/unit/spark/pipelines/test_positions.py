"""Where a pipeline starts, for every way in which its group may have been moved."""

import pytest

from headrace.client.groups_offsets import CommittedOffset
from headrace.spark.errors import PipelineError
from headrace.spark.offsets import OffsetJson
from headrace.spark.pipelines.context import Running
from headrace.spark.pipelines.positions import Known, Start, decide
from headrace.spark.pipelines.state_directory import Record

_OURS = Running("orders", "orders", "/c", generation=2).commit_metadata(5)


def known(
    *,
    record: Record | None = None,
    position: OffsetJson | None = None,
    ours: dict[int, int] | None = None,
    theirs: dict[int, int] | None = None,
    stateful: bool = False,
    remote: bool = False,
) -> Known:
    committed = {("t", p): CommittedOffset(o, metadata=_OURS) for p, o in (ours or {}).items()}
    committed |= {("t", p): CommittedOffset(o) for p, o in (theirs or {}).items()}
    return Known("orders", "orders", record, position, committed, stateful, remote)


def record(**changes: object) -> Record:
    return Record("orders", "orders", generation=2, **changes)  # type: ignore[arg-type]


def test_a_new_pipeline_with_a_new_group_follows_its_options() -> None:
    assert decide(known()) == Start(1)


def test_a_new_pipeline_starts_where_its_group_stands() -> None:
    start = decide(known(theirs={0: 7, 1: 3}))
    assert (start.generation, start.starting) == (1, {"t": {"0": 7, "1": 3}})
    assert "its group orders stands" in start.why


def test_a_stateless_pipeline_whose_directory_was_lost_goes_on_from_its_group() -> None:
    start = decide(known(ours={0: 7}))
    assert (start.generation, start.starting) == (3, {"t": {"0": 7}})


def test_a_stateful_pipeline_whose_directory_was_lost_refuses() -> None:
    with pytest.raises(PipelineError, match="its state is not in this state directory"):
        decide(known(ours={0: 7}, stateful=True))


def test_a_new_stateful_pipeline_may_start_where_somebody_put_its_group() -> None:
    assert decide(known(theirs={0: 7}, stateful=True)).starting == {"t": {"0": 7}}


def test_a_checkpoint_elsewhere_is_found_by_the_generation_in_the_group() -> None:
    assert decide(known(ours={0: 7}, stateful=True, remote=True)) == Start(2)


def test_a_pipeline_that_nobody_moved_goes_on() -> None:
    start = decide(known(record=record(), position={"t": {"0": 7}}, ours={0: 7}))
    assert start == Start(2)


def test_a_group_behind_its_checkpoint_after_a_crash_was_not_moved() -> None:
    assert decide(known(record=record(), position={"t": {"0": 9}}, ours={0: 7})) == Start(2)


def test_a_group_that_was_deleted_was_not_moved() -> None:
    assert decide(known(record=record(), position={"t": {"0": 9}})) == Start(2)


def test_a_reset_to_the_very_place_moves_nothing() -> None:
    assert decide(known(record=record(), position={"t": {"0": 9}}, theirs={0: 9})) == Start(2)


def test_a_later_start_still_knows_where_its_generation_began() -> None:
    start = decide(known(record=record(starting={"t": {"0": 4}}), ours={0: 4}))
    assert start == Start(2, {"t": {"0": 4}})


def test_a_moved_stateless_pipeline_gets_a_new_generation_there() -> None:
    start = decide(
        known(record=record(), position={"t": {"0": 9, "1": 8}}, ours={1: 8}, theirs={0: 2})
    )
    assert (start.generation, start.starting) == (3, {"t": {"0": 2, "1": 8}})
    assert start.why == "its group orders was moved: t-0 9 → 2"


def test_a_moved_stateful_pipeline_refuses_and_says_both_ways_out() -> None:
    with pytest.raises(PipelineError, match=r"reset orders --state` .* --to-checkpoint`"):
        decide(known(record=record(), position={"t": {"0": 9}}, theirs={0: 2}, stateful=True))


def test_without_a_finished_batch_there_is_no_state_to_lose() -> None:
    start = decide(known(record=record(), theirs={0: 2}, stateful=True))
    assert (start.generation, start.starting) == (3, {"t": {"0": 2}})


def test_a_dropped_state_starts_anew_where_the_group_stands() -> None:
    start = decide(
        known(
            record=record(drop_state=True),
            position={"t": {"0": 9, "1": 4}},
            theirs={0: 2},
            stateful=True,
        )
    )
    assert (start.generation, start.starting) == (3, {"t": {"0": 2, "1": 4}})


def test_a_dropped_state_without_any_offset_follows_the_options() -> None:
    assert decide(known(record=record(drop_state=True), stateful=True)).starting is None


def test_many_moves_are_told_in_short() -> None:
    position = {"t": {str(p): 9 for p in range(10)}}
    start = decide(known(record=record(), position=position, theirs=dict.fromkeys(range(10), 1)))
    assert start.why.endswith("t-2 9 → 1 and 7 more")


@pytest.mark.parametrize(
    ("before", "way_out"),
    [(None, "--to-current --execute"), (record(), "pipelines reset orders --to-checkpoint")],
)
def test_the_group_of_another_pipeline_is_not_taken_over(
    before: Record | None, way_out: str
) -> None:
    theirs = Running("payments", "orders", "/c", generation=1).commit_metadata(3)
    committed = {("t", 0): CommittedOffset(7, metadata=theirs)}
    with pytest.raises(PipelineError, match="is that of pipeline payments") as refused:
        decide(Known("orders", "orders", before, {"t": {"0": 5}}, committed, False))
    assert way_out in str(refused.value)
