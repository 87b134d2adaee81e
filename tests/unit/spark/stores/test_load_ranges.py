"""Where the next load goes on, and when it refuses to."""

import pytest

from headrace.spark.errors import DataLossError
from headrace.spark.stores.load_ranges import LoadRange, next_range

A, B = ("t", 0), ("t", 1)


def test_a_load_goes_on_where_the_last_ended() -> None:
    found = next_range({A: 0, B: 3}, {A: 10, B: 5}, {A: 7, B: 5})
    assert found == LoadRange({A: 7, B: 5}, {A: 10, B: 5})
    assert found.count == 3


def test_partitions_that_are_not_read_stay_out_of_it() -> None:
    assert next_range({A: 0}, {A: 10}, {A: 7, B: 5}) == LoadRange({A: 7}, {A: 10})


def test_records_that_retention_took_before_they_were_loaded_are_a_loss() -> None:
    with pytest.raises(
        DataLossError, match=r"^The load of t-0 should go on at offset 7, .* 8 to 9"
    ):
        next_range({A: 8}, {A: 9}, {A: 7})
    assert next_range({A: 8}, {A: 9}, {A: 7}, fail_on_data_loss=False).starting == {A: 8}


def test_an_end_that_moved_back_is_a_loss() -> None:
    with pytest.raises(DataLossError, match="offset 7, but there is 0 to 6 now"):
        next_range({A: 0}, {A: 6}, {A: 7})
    assert next_range({A: 0}, {A: 6}, {A: 7}, fail_on_data_loss=False).starting == {A: 0}
