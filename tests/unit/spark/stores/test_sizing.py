"""When files are written once more, and as how many."""

from headrace.spark.stores.sizing import Layout, better_layout, rows_per_file


def test_a_swarm_of_small_files_becomes_one() -> None:
    swarm = {f"{number}.parquet": 10 for number in range(200)}
    assert better_layout(swarm, 0, 100_000) == Layout(tasks=1)


def test_a_single_small_file_is_good_as_it_is() -> None:
    assert better_layout({"a": 10}, 0, 100_000) is None
    assert better_layout({}, 0, 100_000) is None


def test_two_small_files_of_one_directory_become_one() -> None:
    assert better_layout({"a": 10, "b": 10}, 0, 100_000) == Layout(tasks=1)


def test_files_near_the_target_are_left_alone() -> None:
    assert better_layout({"a": 90, "b": 110, "c": 60, "d": 50}, 0, 100) is None


def test_one_file_in_each_of_many_partitions_is_the_least_there_can_be() -> None:
    assert better_layout({f"day={day}/a": 10 for day in range(50)}, 0, 1000) is None


def test_tasks_times_partitions_are_gathered_by_partition() -> None:
    swarm = {f"day={day}/{task}": 10 for day in range(5) for task in range(8)}
    assert better_layout(swarm, 0, 1000) == Layout(tasks=1)


def test_a_file_that_is_far_too_large_is_cut_by_rows() -> None:
    layout = better_layout({"a": 1000}, 500, 100)
    assert layout == Layout(tasks=10, rows_per_file=63)  # 50 of 2 bytes, and a quarter more


def test_without_rows_there_is_nothing_to_count_by() -> None:
    assert rows_per_file(1000, 0, 100) == 0
    assert rows_per_file(10**12, 1, 100) == 1
