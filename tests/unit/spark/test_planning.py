"""How a batch is bounded and cut into tasks."""

from hypothesis import given
from hypothesis import strategies as st

from headrace.spark.offsets import from_json, to_json
from headrace.spark.planning import OffsetRange, limit_offsets, ranges_between, split_ranges

PARTITIONS = st.tuples(st.sampled_from(["a", "b"]), st.integers(0, 3))
SPANS = st.dictionaries(PARTITIONS, st.tuples(st.integers(0, 1000), st.integers(0, 1000)))


def test_offsets_are_json_as_sparks_connector_writes_it() -> None:
    offsets = {("b", 1): 7, ("a", 10): 3, ("a", 2): 1}
    assert to_json(offsets) == {"a": {"2": 1, "10": 3}, "b": {"1": 7}}
    assert from_json(to_json(offsets)) == offsets


@given(SPANS, st.integers(1, 500))
def test_a_limit_is_shared_out_and_everybody_moves_on(
    spans: dict[tuple[str, int], tuple[int, int]], limit: int
) -> None:
    start = {key: first for key, (first, _) in spans.items()}
    latest = {key: first + size for key, (first, size) in spans.items()}
    end = limit_offsets(start, latest, limit)
    assert end.keys() == latest.keys()
    waiting = sum(latest.values()) - sum(start.values())
    taken = sum(end.values()) - sum(start.values())
    assert taken <= max(limit, 0) + len(spans)
    assert taken == waiting if waiting <= limit else taken > 0
    for key in end:
        assert start[key] <= end[key] <= latest[key]
        assert (end[key] > start[key]) == (latest[key] > start[key])


@given(SPANS, st.none() | st.integers(1, 40), st.none() | st.integers(1, 700))
def test_tasks_cover_every_offset_once_and_in_order(
    spans: dict[tuple[str, int], tuple[int, int]], at_least: int | None, at_most: int | None
) -> None:
    start = {key: first for key, (first, _) in spans.items()}
    end = {key: first + size for key, (first, size) in spans.items()}
    ranges = ranges_between(start, end)
    pieces = split_ranges(ranges, min_partitions=at_least, max_records=at_most)
    covered = [(p.topic, p.partition, offset) for p in pieces for offset in range(p.start, p.end)]
    wanted = [(*key, offset) for key in sorted(end) for offset in range(start[key], end[key])]
    assert covered == wanted
    assert all(piece.size > 0 for piece in pieces)
    if at_most is not None:
        assert all(piece.size <= at_most for piece in pieces)


def test_one_large_partition_becomes_as_many_tasks_as_are_wanted() -> None:
    large, small = OffsetRange("a", 0, 0, 900), OffsetRange("a", 1, 0, 100)
    pieces = split_ranges([large, small], min_partitions=10)
    assert len(pieces) == 10
    assert {piece.size for piece in pieces} == {100}
    assert split_ranges([large, small]) == [large, small]
